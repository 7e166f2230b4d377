// InfiniBand against RoCE, where both ends of a connection are known.
#pragma once

#include <string>

namespace nnd::diagnosis {

// As enum ibv link layers: 1 InfiniBand, 2 Ethernet; 0: not known.
const char* link_layer_text(int link_layer) noexcept;  // "InfiniBand", "Ethernet", "unspecified"

struct LinkLayers {
  int local = 0;
  int peer = 0;

  bool differ() const { return local != 0 && peer != 0 && local != peer; }
  // "the port here is Ethernet, the peer's InfiniBand"
  std::string text() const;
};

}  // namespace nnd::diagnosis

#include "diagnosis/link_layers.h"

namespace nnd::diagnosis {

const char* link_layer_text(int link_layer) noexcept {
  return link_layer == 1 ? "InfiniBand" : link_layer == 2 ? "Ethernet" : "unspecified";
}

std::string LinkLayers::text() const {
  return std::string("the port here is ") + link_layer_text(local) +
         ", the one that the peer listens on " + link_layer_text(peer);
}

}  // namespace nnd::diagnosis

// nnd-netlink.json lies in a tree that somebody recorded or built.
#include <string_view>

#include "facts/netdev.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto network =
      nnd::facts::parse_netlink_json(std::string_view(reinterpret_cast<const char*>(data), size));
  nnd::facts::finish(network);
  return 0;
}

// rtnetlink's answers: any bytes are walked, and what they say can be finished and asked.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "facts/rtnetlink_parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nnd::facts;
  const std::vector<char> aligned(data, data + size);  // as the receive buffer is
  Network network;
  std::vector<rtnetlink::Relations> relations;
  const auto walked = rtnetlink::walk({aligned.data(), aligned.size()}, 0, [&](const nlmsghdr& at) {
    rtnetlink::take_link(at, network, relations);
    rtnetlink::take_address(at, network);
    rtnetlink::take_route(at, network);
    rtnetlink::take_neighbour(at, network);
  });
  if (walked.error < 0 || network.devs.size() != relations.size()) __builtin_trap();
  rtnetlink::name_relations(relations, network);
  finish(network);
  for (const NetDev& dev : network.devs)
    for (const IpPrefix& own : dev.addresses) {
      if (!network.owner(own.address, &dev)) __builtin_trap();
      if (own.network_text().empty()) __builtin_trap();
    }
  return 0;
}

// What NCCL itself prints (NCCL_DEBUG=INFO) about its channels and network.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nnd::cli {

// "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0": the words of NCCL 2.18 to 2.32, as read in the
// output of each.
struct ChannelLine {
  int channel = 0;
  bool sends = false;
  int from = 0, to = 0;  // ranks
  int device = 0;        // index of the net device
};

struct NcclLines {
  std::vector<ChannelLine> channels;  // over the network, each once
  std::string network;                // "IB", "Socket" ("Using network IB"); empty where not said
  std::vector<std::string> warnings;  // its own: each different "NCCL WARN" text once
};

NcclLines read_nccl_lines(const std::string& output);

}  // namespace nnd::cli

#include "cli/common/nccl_lines.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <tuple>

namespace nnd::cli {

namespace {

std::optional<ChannelLine> channel_line(const std::string& line) {
  const auto at = line.find("Channel ");
  if (at == std::string::npos) return std::nullopt;
  ChannelLine found;
  char direction[8] = "";
  constexpr int kFields = 5;
  if (std::sscanf(line.c_str() + at,
                  "Channel %d/%*d : %d[%*[^]]] -> %d[%*[^]]] [%7[a-z]] via NET/%*[^/]/%d",
                  &found.channel, &found.from, &found.to, direction, &found.device) != kFields)
    return std::nullopt;
  found.sends = std::string(direction) == "send";
  return found;
}

std::string after(const std::string& line, const char* words) {
  const auto at = line.find(words);
  return at == std::string::npos ? "" : line.substr(at + std::string(words).size());
}

}  // namespace

NcclLines read_nccl_lines(const std::string& output) {
  NcclLines out;
  std::set<std::tuple<int, bool, int, int, int>> seen;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (const auto channel = channel_line(line)) {
      if (seen.insert(
                  {channel->channel, channel->sends, channel->from, channel->to, channel->device})
              .second)
        out.channels.push_back(*channel);
    } else if (auto network = after(line, "Using network "); !network.empty()) {
      out.network = network;
    } else if (auto warning = after(line, "NCCL WARN "); !warning.empty()) {
      if (warning.starts_with("NET/DIAG ")) continue;  // the shim's, which its events tell
      if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end())
        out.warnings.push_back(warning);
    }
  }
  return out;
}

}  // namespace nnd::cli

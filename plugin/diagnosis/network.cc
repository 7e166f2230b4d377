#include "diagnosis/network.h"

#include <fmt/format.h>

namespace nnd::diagnosis {

namespace {

std::string where(const std::string& device, const std::string& peer) {
  return (device.empty() ? "" : " on " + device) + (peer.empty() ? "" : " towards " + peer);
}

std::string stall(const Stall& seen) {
  return fmt::format("{:.0f} s ({}{})", seen.sec, wait_name(seen.wait),
                     where(seen.place, seen.peer));
}

std::string moved(const NetworkHistory& seen) {
  return fmt::format("{} connections moved {:.3f} GB", seen.connections,
                     static_cast<double>(seen.bytes) / 1e9);
}

NetworkVerdict judged(const NetworkHistory& seen) {
  if (seen.failures != 0 && seen.all_over)
    return {"degraded", fmt::format("{} that NCCL got over: {}{}; {}.",
                                    seen.failures == 1 ? "A failure" : "Failures",
                                    nccl_net_diag::cause_id(seen.cause),
                                    where(seen.device, seen.peer), moved(seen))};
  if (seen.failures != 0)
    return {"failed", std::to_string(seen.failures) +
                          (seen.failures == 1 ? " failure: " : " failures, the first of them ") +
                          std::string(nccl_net_diag::cause_id(seen.cause)) +
                          where(seen.device, seen.peer) + "; " + moved(seen) + "."};
  if (seen.stalled.sec > 0)
    return {"stalled", "Stalled for up to " + stall(seen.stalled) + "; " + moved(seen) + "."};
  const std::string waited =
      seen.waited.sec > 0 ? "; the longest wait for a peer was " + stall(seen.waited) : "";
  if (seen.worse_port)
    return {"degraded",
            "A port lost or spoilt packets, nothing failed: " + moved(seen) + waited + "."};
  return {"healthy", moved(seen) + ", nothing failed" + waited + "."};
}

}  // namespace

NetworkVerdict judge(const NetworkHistory& seen) {
  NetworkVerdict out = judged(seen);
  if (!seen.awaited.empty()) out.sentence += " It waited " + seen.awaited + ".";
  return out;
}

}  // namespace nnd::diagnosis

// What one process's log says of whom the job waits for (job.stall), and when it waited.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nnd::verdict {

struct NamedProcess {
  std::string proc = {};  // as its own log has it
  std::optional<int> rank = std::nullopt;
  std::string host = {};
  std::optional<int> pid = std::nullopt;

  // Somebody who has this log alone can't go to it.
  bool by_proc_alone() const { return !rank && !pid && host.empty(); }
};

// One job.stall.
struct RootLine {
  std::uint64_t mono_ns = 0;
  bool warns = false;
  std::string kind = {}, cause = {}, place = {}, msg = {};
  NamedProcess who = {};
  std::optional<NamedProcess> other = std::nullopt;
  bool task = false;   // it says what that process was given
  double age_sec = 0;  // how long the log's own process had waited
};

// From the first conn.stall until all of these have resumed.
struct WaitSpan {
  std::uint64_t from_ns = 0;
  std::optional<std::uint64_t> to_ns = std::nullopt;  // empty: it lasts
};

struct RootLog {
  std::string proc;  // its own
  std::vector<RootLine> lines;
  std::vector<WaitSpan> waits;
  std::optional<std::uint64_t> failed_ns;  // its first error
  std::string no_peers;                    // why NCCL_NET_DIAG_PEERS has no effect

  // The wait of that moment.
  const WaitSpan* wait_at(std::uint64_t mono_ns) const;
};

// Lines that are cut off are left out.
RootLog read_root_log(std::istream& in);

}  // namespace nnd::verdict

// What NCCL's RAS answers to STATUS in JSON (2.28.7 and newer), saved to a file: the communicators
// of a job, how many collectives each rank has begun, and who does not answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nnd::foreign {

struct RasRank {
  int rank = -1;
  std::string host;  // its address
  std::int64_t pid = 0;
  int init_state = 0, async_error = 0;         // ncclResult_t
  bool aborted = false;                        // the program gave the communicator up
  std::map<std::string, std::uint64_t> begun;  // collectives of each kind: "AllReduce"
};

struct RasMissing {
  int rank = -1;
  std::string host;
  std::int64_t pid = 0;
  bool dead = false;  // it has not answered for a minute; false: for seconds
};

struct RasCommunicator {
  std::string hash;  // "0x1f"
  int size = 0;
  std::vector<RasRank> ranks;
  std::vector<RasMissing> missing;
};

struct RasStatus {
  std::string file;
  std::string nccl;         // "2.28.9"
  std::string time;         // "2026-11-26 11:17:07", of the host that was asked
  std::int64_t at_sec = 0;  // the same in seconds, as if it were UTC; 0: not told
  std::vector<RasCommunicator> communicators;
};

// By the begin of a file.
bool may_be_ras_status(std::string_view begin);

// Unset: it is none. Takes no more than some times its bytes of memory.
std::optional<RasStatus> read_ras_status(const std::string& file, std::string_view bytes);

}  // namespace nnd::foreign

// What a file of another program says of a job: one fact, where it stands, and how sure it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nccl_net_diag/causes.h"

namespace nnd::foreign {

enum class Source : std::uint8_t { kNcclLog, kWatchdog, kKernelLog, kErrorFile, kOutput };
const char* name_of(Source source);  // "NCCL's log"

enum class What : std::uint8_t {
  kRelease,    // text: "2.28.9"
  kRank,       // of a communicator: rank, nranks
  kHca,        // dev, text: its link layer, "RoCE" or "IB"
  kHcaPath,    // dev, pci
  kTransport,  // text: "IB", "Socket"
  kNetApi,     // status: a version of the net API that a plugin lacks
  kNoHca,      // NCCL found none
  kFailure,    // a call or a request failed
  kSign,       // a port or an HCA told of trouble
  kEcho,       // it says that something else has failed
  kAborted,    // the program gave the communicator up
  kKilled,     // the kernel killed a process, for lack of memory
  kCrashed,    // a process touched memory that it may not
  kHung,       // a process waits in the kernel for minutes
  kGpu,        // a GPU or an NVSwitch failed
  kRaised,     // a Python program ended with an exception
  kEnded,      // a process did, as who started it tells, or who caught its signal
  kCancelled   // Slurm ended all of it; detail: why
};

enum class Sure : std::uint8_t {
  kSaid,    // in so many words
  kFollows  // from what is said
};

// Where a line was written. An empty or unset field was not told.
struct Writer {
  std::string host;
  std::int64_t pid = 0;
  std::optional<int> rank;

  auto operator<=>(const Writer&) const = default;
};

// status: of a completion, the number of an Xid, or how a process ended: below 0 by that signal.
struct Fact {
  What what = What::kEcho;
  Source source = Source::kNcclLog;
  Sure sure = Sure::kSaid;
  Writer writer;
  bool on_node = false;             // writer.rank is the one on its node
  std::optional<int> rank, nranks;  // of kRank
  std::int64_t at_sec = 0;          // by the writer's clock and zone; 0: not told
  bool utc = false;                 // at_sec is
  bool no_year = false;             // of at_sec, which counts from 2000
  double up_sec = 0;                // since the host was started; 0: not told
  std::optional<nccl_net_diag::Cause> cause;
  std::string dev;            // "mlx5_0:1"; empty: the line names no device
  std::string peer;           // the other end's address; "10.0.0.2<4791>"
  std::string local, remote;  // GIDs
  std::optional<int> error, status;
  // Of the kernel's: the device, and the process that it tells of.
  std::string pci, netdev, program;
  std::int64_t pid = 0;
  std::string place;   // where it was told: "train.py:212 in step", "transport/nvls.cc:244"
  std::string detail;  // what the cause alone does not tell, as printed
  std::string text;    // what was said
  std::string file;
  bool by_setting = false;   // whatever the network does, it fails so
  bool by_stranger = false;  // what came from a peer is not what this release sends
  std::uint64_t line = 0;    // in it, from 1
  std::uint64_t count = 1;   // as often the writer said so
};

}  // namespace nnd::foreign

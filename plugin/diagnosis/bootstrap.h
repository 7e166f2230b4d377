// A communicator that is still being made: ranks find each other by TCP before any connection of
// the network that we carry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

// NCCL's bootstrap, step by step (src/bootstrap.cc, v2.18.3-1 to v2.30.7-1). Of a communicator
// that is not the process's first it can't be told which step an address belongs to.
enum class BootStep : std::uint8_t {
  kRoot,      // connects to the root
  kAnswer,    // has told the root where it listens; the root has not answered
  kNext,      // connects to the next rank
  kPrevious,  // waits for the previous rank to connect
  kRing,      // has both; nothing comes from the previous rank
  kGather,    // is the root, waits for ranks
  kReply,     // is the root, connects back to a rank
  kConnect,
  kAccept,
  kReceive,
  kSocket,  // can't even open one
  kCount
};
// "answer": field "step" of the events.
std::string_view step_name(BootStep step) noexcept;

enum class FarEnd : std::uint8_t { kUnknown, kSilent, kRefuses, kUnreachable, kConnected };
std::string_view far_end_name(FarEnd end) noexcept;  // "silent"

struct Bootstrap {
  BootStep step = BootStep::kRoot;
  double sec = 0;
  bool past = false;  // the communicator is past its bootstrap: its ranks meet once more
  // Where this process listens, and why there.
  std::string listener;  // "10.0.0.12:40211"; empty: nowhere yet
  std::string netdev;    // empty: not known
  std::string why;       // by which of NCCL's rules; empty: another was expected
  std::string confined;  // why it is hardly an address for another host; empty: it may be one
  std::string root;      // empty: not known
  // Whom it connects to, or waits for; and from where.
  std::string target;
  FarEnd far = FarEnd::kUnknown;
  int error = 0;    // of the last attempt
  int refused = 0;  // of an earlier one, where the last ended otherwise
  unsigned attempts = 0;
  unsigned retransmits = 0;  // kSilent: SYNs after the first
  std::string source, source_netdev;
  std::string source_subnet;  // that the target is outside of; empty: it is inside, or not known
  std::string neighbour;    // "failed": state of the target's entry; empty: none, or not looked at
  bool link_local = false;  // the target
  std::string bridge;       // an interface of this very host that has the target's subnet
  // kGather
  unsigned guests = 0;
  std::vector<std::string> hosts = {};  // from where
  bool id_given = false;                // NCCL_COMM_ID: the root's process may be the last to come
  bool answers_in_pairs = false;        // the root answers a rank as soon as the next one has come
  // What could not be opened, and a call that failed for good.
  std::string call = {};
};

// It does not end by itself, and the network between two hosts is why.
bool is_blocked(const Bootstrap& seen) noexcept;
// Else ranks may be late.
bool is_warning(const Bootstrap& seen) noexcept;

Diagnosis diagnose(const Bootstrap& seen);
// listener: "10.0.0.12:40211", of a process that has closed a connection to it.
Diagnosis closed_by(const std::string& listener);

}  // namespace nnd::diagnosis

// One look at what the NCCL processes of this machine have in their black boxes. Nothing of theirs
// is touched: no signal, no ptrace, no lock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "log/box.h"
#include "log/event.h"
#include "log/living.h"

namespace nnd::cli {

// A process as its box has it. The names in it are words: what is none is made one, so that nobody
// writes another user's sentences.
struct SeenProcess {
  int pid = 0;                  // as this machine counts, which a process of a container may not
  uid_t user = 0;               // whose it is, as the kernel says
  std::filesystem::path named;  // its box, as it knows it
  std::uint64_t device = 0, inode = 0;
  nccl_net_diag::box::FileHeader header{};
  std::vector<nccl_net_diag::box::CommSlot> comms;
  std::vector<nccl_net_diag::box::ConnSlot> conns;  // without listen comms
  // What the first lines of its log say; unset, empty: they do not yet.
  std::optional<log::Launch> launch;
  std::map<std::string, std::int64_t> port_mbps;  // of "mlx5_0:1"
  int log_reads = 0;                              // so often it was looked into
};

// What a process is known by from look to look. Another user's box may claim its number.
using ProcessKey = std::pair<uid_t, std::uint64_t>;
inline ProcessKey key_of(const SeenProcess& process) {
  return {process.user, process.header.proc_id};
}

struct Unread {
  int pid = 0;
  std::string why;  // "its black box has layout version 2"
};

struct Look {
  std::uint64_t mono_ns = 0;  // CLOCK_MONOTONIC, of this program
  std::vector<SeenProcess> processes;
  std::vector<Unread> unread;
  std::uint64_t real_ns = 0;  // CLOCK_REALTIME of the same instant; 0: not known
  // Who was there at the look before and left his box behind: whoever ends by himself removes it.
  std::set<ProcessKey> died;
};

// Looks again and again.
class Looker {
 public:
  // At these processes; none: at all that this user may look into.
  explicit Looker(std::vector<int> pids) : pids_(std::move(pids)) {}

  Look look();

 private:
  void find(std::uint64_t now_ns);
  bool read(const log::LivingBox& box, Look& look);

  std::vector<int> pids_;
  std::vector<log::LivingBox> boxes_;
  std::uint64_t found_ns_ = 0;  // when they were looked for
  std::map<ProcessKey, SeenProcess> before_;
};

// As a word: what is no letter, digit or mark of a name becomes '?'.
std::string as_word(std::string text);

// A place that was being written while it was read has a wrong checksum: what was there before is
// added. Where that can't be told from what has been closed since, nothing is.
void keep_what_was_torn(const SeenProcess& before, const log::BoxContents& read, SeenProcess& now);

}  // namespace nnd::cli

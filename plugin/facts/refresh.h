// What changes of a node while a job runs: addresses, routes and GIDs.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "facts/node.h"

namespace nnd::facts {

// A source GID as NCCL has it now, which need not be the one that was there when facts were read.
struct SourceGid {
  std::string_view device;
  unsigned port = 1;
  int index = -1;  // -1: none, InfiniBand by LID
  context::Gid raw{};
};

// The same node with the kernel's addresses and routes of now, and with this GID in its slot. None:
// the kernel could not be asked.
std::optional<Node> refreshed(const Node& node, const SourceGid& source);

// Whether a judgement of a pair could come out otherwise.
bool same_network(const Node& a, const Node& b);

// Says that addresses, links or routes changed: the kernel tells it a socket. Thread-safe, no lock.
class NetworkChanges {
 public:
  // As read_network() knows sources: a root other than "/sys" has a file, which is looked at.
  explicit NetworkChanges(std::string sysfs_root);
  ~NetworkChanges();
  NetworkChanges(const NetworkChanges&) = delete;
  NetworkChanges& operator=(const NetworkChanges&) = delete;

  // Since the last call, or since it was made. A system call, two where there is news. Also true
  // where news were lost.
  bool any() noexcept;
  // False: the kernel gives no such socket.
  bool are_told() const noexcept { return !file_.empty() || fd_ >= 0; }

 private:
  std::int64_t written_at() const noexcept;

  std::string file_;
  std::atomic<std::int64_t> seen_{0};
  int fd_ = -1;
};

}  // namespace nnd::facts

// The black boxes that processes of this machine write now.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nnd::log {

struct LivingBox {
  int pid = 0;
  // Through the process's own descriptor (/proc/PID/fd/N): right in a container of its own too, and
  // where the name is gone.
  std::filesystem::path file;
  std::filesystem::path named;  // as the process knows it
  uid_t user = 0;               // whose process it is
  uid_t owner = 0;              // whose file
  std::uint64_t device = 0, inode = 0;

  // Who writes into another user's file may have been handed it; it tells nothing of the process.
  // A network's file system may call root nobody.
  bool is_its_own() const;
};

// By process id.
std::vector<int> processes();
// Those that a process writes; none too where it is gone or another user's.
std::vector<LivingBox> living_boxes(int pid);
// What is in the box's file from `offset` on: `size` bytes, or fewer where no more are written. A
// file may claim to be any size: where it has holes nothing is read. Throws ReadError.
std::string read_living(const LivingBox& box, std::uint64_t offset, std::uint64_t size);
// Whether this user may look into it. False: it is another's, or gone.
bool may_look_into(int pid);
// Whose process it is; unset: it is gone.
std::optional<uid_t> user_of(int pid);

}  // namespace nnd::log

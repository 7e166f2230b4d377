// A disk that can be full and that can hang: a tmpfs behind FUSE (bindfs), whose server is stopped.
// In a mount namespace of the test's own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace nnd::soak {

// Why there can be none here; empty: there can.
std::string no_slow_disk();

class SlowDisk {
 public:
  // The place is a directory that is there. Throws std::runtime_error.
  SlowDisk(std::filesystem::path place, const std::string& size);
  ~SlowDisk();
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;

  // What is asked of it from now on waits until it goes on.
  void hang();
  void go_on();
  void fill();
  void make_room();
  // The same files, past FUSE.
  const std::filesystem::path& store() const { return store_; }

 private:
  std::filesystem::path place_, store_;
  pid_t server_ = -1;
};

}  // namespace nnd::soak

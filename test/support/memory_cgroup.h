// A memory cgroup of a test's own, where one can be made (root, and a writable cgroup file system).
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>

namespace nnd::test {

class MemoryCgroup {
 public:
  MemoryCgroup() {
    struct Generation {
      const char *mount, *limit, *usage;
    };
    constexpr std::array kGenerations = {
        Generation{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
        Generation{"/sys/fs/cgroup", "memory.max", "memory.current"}};
    for (const auto& [mount, limit, usage] : kGenerations) {
      const std::string dir = std::string(mount) + "/nnd-test-" + std::to_string(::getpid());
      if (::mkdir(dir.c_str(), 0755) != 0) continue;
      if (::access((dir + "/" + limit).c_str(), W_OK) == 0) {
        dir_ = dir;
        limit_ = dir + "/" + limit;
        usage_ = dir + "/" + usage;
        return;
      }
      ::rmdir(dir.c_str());
    }
  }
  // Those in it must have ended.
  ~MemoryCgroup() {
    if (!dir_.empty()) ::rmdir(dir_.c_str());
  }
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  bool made() const { return !dir_.empty(); }
  void add(pid_t process) const { std::ofstream(dir_ + "/cgroup.procs") << process; }
  std::uint64_t usage() const {
    std::uint64_t bytes = 0;
    std::ifstream(usage_) >> bytes;
    return bytes;
  }
  // Whether the limit is in force now.
  bool limit(std::uint64_t bytes) const {
    bytes = bytes / 4096 * 4096;
    std::ofstream(limit_) << bytes;
    std::uint64_t now = 0;
    return (std::ifstream(limit_) >> now) && now == bytes;
  }

 private:
  std::string dir_, limit_, usage_;
};

}  // namespace nnd::test

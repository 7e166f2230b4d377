// The logs of processes that came and went between two looks. Nobody saw them, and what they failed
// of is in their logs, where these lie in their usual place.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

namespace nnd::cli {

struct FileId {
  std::uint64_t device = 0, inode = 0;

  auto operator<=>(const FileId&) const = default;
};

class LeftLogs {
 public:
  // In the directories "nccl-net-diag-UID" of this one, each of whose logs are its user's.
  explicit LeftLogs(std::filesystem::path temporary = "/tmp");

  // Those that were written to since the call before, and whose process is gone; none at the first
  // call. Each once. `watched`: of processes that are known already. real_ns: now.
  std::vector<std::filesystem::path> next(const std::set<FileId>& watched, std::uint64_t real_ns);

  // So many may await their process's end, and are given at a call: anybody can write there.
  static constexpr std::size_t kMostAwaited = 4096, kMostAtOnce = 64;

 private:
  struct Awaited {
    std::filesystem::path file;
    uid_t user = 0;
    int pid = 0;  // 0: not known yet
  };
  void find(const std::filesystem::path& directory, uid_t user, std::uint64_t since_ns);

  const std::filesystem::path temporary_;
  std::map<FileId, Awaited> awaited_;
  std::map<FileId, std::uint64_t> done_;  // and when
  std::uint64_t before_ns_ = 0;
};

}  // namespace nnd::cli

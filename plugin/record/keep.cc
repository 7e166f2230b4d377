#include "record/keep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nccl_net_diag/black_box.h"

namespace nnd::record {

namespace {

constexpr int kMostLookedAt = 10000;
constexpr std::string_view kLogStart = "{\"v\":1,\"ts\":\"";
constexpr std::string_view kBoxStart{nccl_net_diag::box::kMagic, sizeof nccl_net_diag::box::kMagic};

struct Left {
  std::string name;
  struct stat about {};

  bool operator<(const Left& other) const {
    const timespec &own = about.st_mtim, &theirs = other.about.st_mtim;
    return std::tie(own.tv_sec, own.tv_nsec, name) <
           std::tie(theirs.tv_sec, theirs.tv_nsec, other.name);
  }
};

class OpenFile {
 public:
  OpenFile(int dir_fd, const char* name)
      : fd_(::openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

  bool ours() const {
    std::array<char, 16> start{};
    const ssize_t size = ::pread(fd_, start.data(), start.size(), 0);
    const std::string_view text(start.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return text.starts_with(kLogStart) || text.starts_with(kBoxStart);
  }
  bool in_use() const { return ::flock(fd_, LOCK_EX | LOCK_NB) != 0; }

 private:
  int fd_;
};

std::vector<Left> left_in(int dir_fd, DIR* dir) {
  std::vector<Left> out;
  for (int i = 0; i < kMostLookedAt; ++i) {
    const dirent* const entry = ::readdir(dir);
    if (entry == nullptr) break;
    Left one;
    one.name = entry->d_name;
    if (::fstatat(dir_fd, entry->d_name, &one.about, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(one.about.st_mode) || one.about.st_uid != ::geteuid() || one.about.st_nlink != 1)
      continue;
    const OpenFile file(dir_fd, entry->d_name);
    if (file.fd() < 0 || !file.ours() || file.in_use()) continue;
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void mark_as_living(int fd) noexcept {
  if (fd >= 0) ::flock(fd, LOCK_EX | LOCK_NB);
}

void sweep(int dir_fd, config::Keep keep) noexcept {
  const int fd = dir_fd < 0 ? -1 : ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  DIR* const dir = ::fdopendir(fd);
  if (dir == nullptr) {
    ::close(fd);
    return;
  }
  try {
    const std::vector<Left> left = left_in(dir_fd, dir);
    std::uint64_t bytes = 0;
    for (const Left& one : left) bytes += static_cast<std::uint64_t>(one.about.st_size);
    std::size_t count = left.size();
    for (const Left& one : left) {
      if (count <= keep.files && bytes <= keep.mb << 20) break;
      struct stat now {};
      if (::fstatat(dir_fd, one.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
          now.st_ino == one.about.st_ino && now.st_dev == one.about.st_dev)
        ::unlinkat(dir_fd, one.name.c_str(), 0);
      --count;
      bytes -= static_cast<std::uint64_t>(one.about.st_size);
    }
  } catch (const std::bad_alloc&) {  // another process sweeps
  }
  ::closedir(dir);
}

}  // namespace nnd::record

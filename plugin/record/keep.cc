#include "record/keep.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "nccl_net_diag/black_box.h"
#include "nccl_net_diag/events.h"

namespace nnd::record {

namespace {

constexpr int kMostLookedAt = 100'000;
constexpr time_t kRecentSec = 3600;
constexpr const char* kMarker = ".swept";
constexpr std::string_view kBoxEnding = nccl_net_diag::box::kFileEnding;
constexpr std::string_view kLogStart = "{\"v\":1,\"ts\":\"";
constexpr std::string_view kBoxStart{nccl_net_diag::box::kMagic, sizeof nccl_net_diag::box::kMagic};

// Of file systems that are a node's own. Unknown ones count as shared.
constexpr std::uint32_t kLocal[] = {
    EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC,     TMPFS_MAGIC,
    RAMFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
    0x58465342,  // XFS, "XFSB": linux/magic.h of newer kernels
    0x2fc12fc1,  // ZFS, include/os/linux/zfs/sys/zfs_vfsops_os.h of OpenZFS
    0xca451a4e,  // bcachefs, fs/bcachefs/bcachefs_format.h of Linux 6.7
};

// What one process left.
struct Left {
  std::vector<std::string> names;
  time_t changed = 0;  // the youngest of them
  std::uint64_t bytes = 0;
};

// Whose file it is, by its name: "host.7" of host.7.jsonl, host.7.nndbox, host.7.jsonl.1; empty: no
// name of ours.
std::string_view process_of(std::string_view name) {
  std::size_t at = std::min(name.find(kLogEnding), name.find(kBoxEnding));
  for (const std::string_view tail : nccl_net_diag::kTailEndings)
    at = std::min(at, name.find(tail));
  return at == name.npos ? std::string_view() : name.substr(0, at);
}

class OpenFile {
 public:
  OpenFile(int dir_fd, const std::string& name)
      : fd_(::openat(dir_fd, name.c_str(),
                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;

  // Whether it may go: ours, nobody's that lives, and of none of the jobs.
  bool may_go(const std::vector<std::string>& jobs) const {
    struct stat about {};
    if (fd_ < 0 || ::fstat(fd_, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_uid != ::geteuid() || about.st_nlink != 1)
      return false;
    // plugin.load is among the first lines.
    std::string start(std::size_t{64} << 10, '\0');
    const ssize_t size = ::pread(fd_, start.data(), start.size(), 0);
    start.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (!start.starts_with(kLogStart) && !start.starts_with(kBoxStart)) return false;
    for (const std::string& job : jobs) {
      const std::string quoted = nlohmann::json(job).dump(
          -1, ' ', false, nlohmann::json::error_handler_t::replace);  // as the log has it
      if (start.find("\"job\":" + quoted) != start.npos) return false;
    }
    return ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
  }

 private:
  int fd_;
};

// The right to sweep now, which one process of the node has within an hour.
class Turn {
 public:
  explicit Turn(int dir_fd)
      : fd_(::openat(dir_fd, kMarker, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600)) {
  }
  ~Turn() {
    if (fd_ >= 0) ::close(fd_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool take(time_t now) const {
    struct stat about {};
    if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) != 0 || ::fstat(fd_, &about) != 0) return false;
    // Its size tells whether anybody has been here: a new one has its time as well.
    const time_t last = about.st_mtim.tv_sec;
    if (about.st_size != 0 && last <= now && now - last < kRecentSec) return false;
    return ::pwrite(fd_, "\n", 1, 0) == 1;
  }

 private:
  int fd_;
};

std::vector<Left> left_in(int dir_fd, DIR* dir) {
  std::map<std::string, Left, std::less<>> found;
  for (int i = 0; i < kMostLookedAt; ++i) {
    const dirent* const entry = ::readdir(dir);
    if (entry == nullptr) break;
    const std::string_view process = process_of(entry->d_name);
    struct stat about {};
    if (process.empty() || ::fstatat(dir_fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    Left& one = found[std::string(process)];
    one.names.emplace_back(entry->d_name);
    one.changed = std::max(one.changed, about.st_mtim.tv_sec);
    one.bytes += static_cast<std::uint64_t>(about.st_blocks) * 512;
  }
  std::vector<Left> out;
  out.reserve(found.size());
  for (auto& [process, one] : found) out.push_back(std::move(one));
  std::stable_sort(out.begin(), out.end(),
                   [](const Left& a, const Left& b) { return a.changed < b.changed; });
  return out;
}

bool remove_all(int dir_fd, const Left& left, const std::vector<std::string>& jobs) {
  std::vector<OpenFile> files;  // held, and so locked, until all are gone
  for (const std::string& name : left.names) {
    files.emplace_back(dir_fd, name);
    if (!files.back().may_go(jobs)) return false;
  }
  for (const std::string& name : left.names) ::unlinkat(dir_fd, name.c_str(), 0);
  return true;
}

void sweep_now(int dir_fd, DIR* dir, time_t now, const config::Keep& keep,
               const std::vector<std::string>& jobs) {
  const std::vector<Left> left = left_in(dir_fd, dir);
  std::uint64_t count = 0, bytes = 0;
  for (const Left& one : left) {
    count += one.names.size();
    bytes += one.bytes;
  }
  for (const Left& one : left) {
    const time_t age = now - one.changed;
    const bool old = age > 0 && static_cast<std::uint64_t>(age) / 86400 >= keep.days;
    if (age < kRecentSec || (!old && count <= keep.files && bytes <= keep.mb << 20)) break;
    if (!remove_all(dir_fd, one, jobs)) continue;
    count -= one.names.size();
    bytes -= one.bytes;
  }
}

}  // namespace

void mark_as_living(int fd) noexcept {
  if (fd >= 0) ::flock(fd, LOCK_EX | LOCK_NB);
}

bool is_node_local(int fd) noexcept {
  struct statfs s {};
  return ::fstatfs(fd, &s) == 0 &&
         std::find(std::begin(kLocal), std::end(kLocal), static_cast<std::uint32_t>(s.f_type)) !=
             std::end(kLocal);
}

void sweep(int dir_fd, const config::Keep& keep, const std::vector<std::string>& jobs) noexcept {
  if (dir_fd < 0 || !is_node_local(dir_fd)) return;
  const time_t now = ::time(nullptr);
  const Turn turn(dir_fd);
  if (!turn.take(now)) return;
  const int fd = ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  DIR* const dir = ::fdopendir(fd);
  if (dir == nullptr) {
    ::close(fd);
    return;
  }
  try {
    sweep_now(dir_fd, dir, now, keep, jobs);
  } catch (...) {  // for lack of memory: another process sweeps
  }
  ::closedir(dir);
}

}  // namespace nnd::record

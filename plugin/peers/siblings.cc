#include "peers/siblings.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "record/safe_file.h"

namespace nnd::peers {

namespace {

// A line of the file.
struct Line {
  std::array<char, 8> mark{'N', 'N', 'D', 'P', 'E', 'E', 'R', '1'};
  std::uint64_t proc = 0;
  context::Gid ip{};
  Secret secret{};
  std::uint64_t port = 0;
  std::uint64_t job = 0;
  std::uint64_t parent = 0;

  bool good() const { return mark == Line().mark && proc != 0 && port != 0 && port <= 0xffff; }
};
static_assert(sizeof(Line) == 64 && std::is_trivially_copyable_v<Line>);

struct flock lock_of(std::size_t line) {
  struct flock out {};
  out.l_type = F_WRLCK;
  out.l_whence = SEEK_SET;
  out.l_start = static_cast<off_t>(line * sizeof(Line));
  out.l_len = sizeof(Line);
  return out;
}

// The description's locks (OFD), which go with the process, however it ends.
bool take(int fd, std::size_t line) {
  struct flock lock = lock_of(line);
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}
bool is_taken(int fd, std::size_t line) {
  struct flock lock = lock_of(line);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

void Siblings::enter(const Sibling& self, const std::string& directory) {
  if (tried_) return;
  tried_ = true;
  // Nodes that are emulated share a directory.
  record::SafeFile file = record::open_own_file(directory, "peers." + record::path_fields().host);
  if (file.fd < 0) return;
  fd_ = ::fcntl(file.fd, F_DUPFD_CLOEXEC, 3);
  file.close();
  self_ = self.proc;
  Line line;
  line.proc = self.proc;
  line.ip = self.address.ip;
  line.port = self.address.port;
  line.secret = self.secret;
  line.job = self.job;
  line.parent = self.parent;
  for (std::size_t i = 0; fd_ >= 0 && i < kMost; ++i)
    if (take(fd_, i)) {
      const ssize_t put = ::pwrite(fd_, &line, sizeof line, static_cast<off_t>(i * sizeof line));
      if (put != sizeof line) forget();
      return;
    }
}

std::vector<Sibling> Siblings::others() const {
  std::vector<Sibling> out;
  if (fd_ < 0) return out;
  for (std::size_t i = 0; i < kMost; ++i) {
    Line line;
    if (::pread(fd_, &line, sizeof line, static_cast<off_t>(i * sizeof line)) != sizeof line) break;
    // Its own lock doesn't show.
    if (!line.good() || line.proc == self_ || !is_taken(fd_, i)) continue;
    out.push_back({line.proc,
                   {line.ip, static_cast<std::uint16_t>(line.port)},
                   line.secret,
                   line.job,
                   static_cast<std::uint32_t>(line.parent)});
  }
  return out;
}

void Siblings::forget() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace nnd::peers

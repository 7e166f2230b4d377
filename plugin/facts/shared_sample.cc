#include "facts/shared_sample.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <sstream>

#include "context/clock.h"
#include "facts/sysfs.h"
#include "record/keep.h"

namespace nnd::facts {

namespace {

constexpr std::size_t kLargest = 65536;
constexpr int kTries = 40;
constexpr timespec kBetween = {0, 5'000'000};

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// This user's, and nobody else can change it.
bool is_own(int fd, mode_t kind) {
  struct stat about {};
  return fd >= 0 && ::fstat(fd, &about) == 0 && (about.st_mode & S_IFMT) == kind &&
         about.st_uid == ::geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int open_directory(const std::string& path) {
  constexpr int kHow = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const int fd = ::open(path.c_str(), kHow);
  if (fd >= 0 || errno != ENOENT || ::mkdir(path.c_str(), 0700) != 0) return fd;
  return ::open(path.c_str(), kHow);
}

// A clock counts from a node's start.
const std::string& this_start() {
  static const std::string id = FileTree("/proc").read("sys/kernel/random/boot_id").text;
  return id;
}

std::string text_of(const Sample& sample) {
  std::string out = fmt::format("{} {}\n", this_start(), sample.at_ns);
  for (const auto& [name, value] : sample.values) out += fmt::format("{} {}\n", name, value);
  return out;
}

std::optional<Sample> sample_in(int fd) {
  std::string text(kLargest, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(size));
  std::istringstream in(text);
  Sample out;
  std::string word;
  if (!(in >> word >> out.at_ns) || word != this_start()) return std::nullopt;
  for (long value = 0; in >> word >> value;) out.values.emplace(word, value);
  return out;
}

// False: another has it, and keeps it.
bool lock(int fd) {
  for (int i = 0; i < kTries; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    ::nanosleep(&kBetween, nullptr);
  }
  return false;
}

Sample read_now(const ReadValues& read) {
  Sample out;
  out.at_ns = context::mono_ns();
  out.values = read();
  return out;
}

}  // namespace

std::optional<Sample> shared_sample(const std::string& directory, const std::string& name,
                                    std::uint64_t not_before_ns, const ReadValues& read) {
  if (directory.empty() || name.find('/') != std::string::npos) return read_now(read);
  const Fd dir(open_directory(directory));
  if (!is_own(dir.get(), S_IFDIR) || !record::is_node_local(dir.get())) return read_now(read);
  const Fd file(::openat(dir.get(), name.c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!is_own(file.get(), S_IFREG)) return read_now(read);
  if (!lock(file.get())) return std::nullopt;
  const std::uint64_t now = context::mono_ns();
  if (auto known = sample_in(file.get());
      known && known->at_ns <= now && known->at_ns >= not_before_ns)
    return known;
  Sample fresh = read_now(read);
  const std::string text = text_of(fresh);
  // Half of it, on a disk that is full, would be another's whole.
  if (text.size() <= kLargest && ::ftruncate(file.get(), 0) == 0 &&
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) &&
      ::ftruncate(file.get(), 0) != 0)
    ::unlinkat(dir.get(), name.c_str(), 0);
  return fresh;
}

}  // namespace nnd::facts

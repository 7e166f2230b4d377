#include "facts/shared_sample.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <sstream>

#include "context/clock.h"
#include "facts/sysfs.h"
#include "record/keep.h"
#include "record/safe_file.h"

namespace nnd::facts {

namespace {

constexpr std::size_t kLargest = 65536;
constexpr int kTries = 40;
constexpr timespec kBetween = {0, 5'000'000};

struct Closed {
  record::SafeFile& file;
  ~Closed() { file.close(); }
};

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
  record::SafeFile file = record::open_own_file(directory, name);
  const Closed at_the_end{file};
  if (file.fd < 0 || !record::is_node_local(file.dir_fd)) return read_now(read);
  if (!lock(file.fd)) return std::nullopt;
  const std::uint64_t now = context::mono_ns();
  if (auto known = sample_in(file.fd);
      known && known->at_ns <= now && known->at_ns >= not_before_ns)
    return known;
  Sample fresh = read_now(read);
  const std::string text = text_of(fresh);
  // Half of it, on a disk that is full, would be another's whole.
  if (text.size() <= kLargest && ::ftruncate(file.fd, 0) == 0 &&
      ::pwrite(file.fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) &&
      ::ftruncate(file.fd, 0) != 0)
    file.remove();
  return fresh;
}

}  // namespace nnd::facts

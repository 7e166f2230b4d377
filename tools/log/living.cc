#include "log/living.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "log/owned_fd.h"
#include "log/source.h"
#include "nccl_net_diag/black_box.h"

namespace nnd::log {

namespace fs = std::filesystem;

namespace {

// What the kernel adds to the name of a file that was removed.
constexpr std::string_view kRemoved = " (deleted)";

fs::path of_process(int pid, const char* what) {
  return fs::path("/proc") / std::to_string(pid) / what;
}

fs::path descriptors_of(int pid) { return of_process(pid, "fd"); }

// What stands behind a word of one of the kernel's files about a process: "Uid:\t0\t0\t0\t0".
// The second number, where there are several; unset: there is none.
std::optional<unsigned> number_behind(const fs::path& file, const std::string& word, int base) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(word)) continue;
    const char* at = line.data() + word.size();
    const char* const end = line.data() + line.size();
    std::optional<unsigned> out;
    for (int i = 0; i < 2; ++i) {
      while (at != end && (*at == '\t' || *at == ' ')) ++at;
      unsigned number = 0;
      const auto read = std::from_chars(at, end, number, base);
      if (read.ec != std::errc()) break;
      out = number;
      at = read.ptr;
    }
    return out;
  }
  return std::nullopt;
}

// Who only reads a box is another program: a backup, a report.
bool writes(int pid, const fs::path& descriptor) {
  constexpr int kOctal = 8;
  const auto about = of_process(pid, "fdinfo") / descriptor.filename();
  const auto flags = number_behind(about, "flags:", kOctal);
  return flags && (*flags & static_cast<unsigned>(O_ACCMODE)) != O_RDONLY;
}

// Of each entry of a directory of /proc, which may go while it is read.
template <typename Take>
void for_each_in(const fs::path& directory, const Take& take) {
  std::error_code error;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) take(at->path());
}

}  // namespace

std::vector<int> processes() {
  std::vector<int> out;
  for_each_in("/proc", [&](const fs::path& path) {
    const std::string name = path.filename();
    int pid = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data(), end, pid).ptr == end) out.push_back(pid);
  });
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<LivingBox> living_boxes(int pid) {
  std::vector<LivingBox> out;
  std::optional<uid_t> user;
  for_each_in(descriptors_of(pid), [&](const fs::path& descriptor) {
    std::error_code gone;
    std::string named = fs::read_symlink(descriptor, gone);
    // The name may go on with ".1".
    if (named.find(nccl_net_diag::box::kFileEnding) == std::string::npos) return;
    if (named.ends_with(kRemoved)) named.resize(named.size() - kRemoved.size());
    struct stat about {};
    if (stat(descriptor.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return;
    if (!user) user = user_of(pid);
    if (!user || !writes(pid, descriptor)) return;
    out.push_back({pid, descriptor, named, *user, about.st_uid, about.st_dev, about.st_ino});
  });
  return out;
}

std::string read_living(const LivingBox& box, std::uint64_t offset, std::uint64_t size) {
  const OwnedFd fd(open(box.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (fd.get() < 0 || fstat(fd.get(), &about) != 0)
    throw ReadError(box.named.string() + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw ReadError(box.named.string() + ": it is no regular file");
  const auto end = static_cast<off_t>(
      std::min<std::uint64_t>(offset + size, static_cast<std::uint64_t>(about.st_size)));
  const auto begin = static_cast<off_t>(offset);
  std::string out;
  for (off_t at = begin; at < end;) {
    at = lseek(fd.get(), at, SEEK_DATA);
    if (at < 0 || at >= end) break;
    const off_t hole = std::min(lseek(fd.get(), at, SEEK_HOLE), end);
    while (at < hole) {
      const auto used = static_cast<std::size_t>(at - begin);
      out.resize(static_cast<std::size_t>(hole - begin));
      const ssize_t some = pread(fd.get(), out.data() + used, out.size() - used, at);
      out.resize(used + static_cast<std::size_t>(std::max<ssize_t>(some, 0)));
      if (some <= 0) return out;
      at += some;
    }
  }
  return out;
}

bool LivingBox::is_its_own() const {
  constexpr uid_t kNobody = 65534;
  return owner == user || (user == 0 && owner == kNobody);
}

std::optional<uid_t> user_of(int pid) {
  constexpr int kDecimal = 10;
  return number_behind(of_process(pid, "status"), "Uid:", kDecimal);
}

bool may_look_into(int pid) { return access(descriptors_of(pid).c_str(), R_OK) == 0; }

}  // namespace nnd::log

#include "record/safe_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "config/launchers.h"
#include "config/settings.h"
#include "context/errno_text.h"
#include "context/utc.h"

namespace nnd::record {

namespace {

constexpr int kMostSuffixes = 8;  // more would be asked for by each of a thousand ranks
constexpr int kMostRandom = 8;

// A value that becomes part of a file's name.
std::string name_part(std::string_view text, std::string_view fallback) {
  std::string part(text.empty() ? fallback : text);
  for (char& c : part)
    if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  if (part.find_first_not_of('.') == std::string::npos) part.assign(part.size(), '_');  // ".."
  return part;
}

int make_directories(const std::string& dir) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = dir.find('/', at);
    const std::string part = dir.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return errno;
    if (at != std::string::npos) ++at;
  }
  return 0;
}

// Why somebody else can replace what we create in the directory; empty: nobody but root can.
std::string others_place(const std::string& dir, const struct stat& s) {
  if (s.st_uid != ::geteuid() && s.st_uid != 0)
    return "the directory " + dir + " belongs to another user (uid " + std::to_string(s.st_uid) +
           ")";
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (s.st_mode & S_ISVTX) == 0)
    return "the directory " + dir + " can be written by others (chmod go-w or +t helps)";
  return "";
}

int open_directory(const std::string& dir, Place place, SafeFile* file) {
  std::string* const error = &file->error;
  int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    if (const int failed = make_directories(dir); failed != 0) {
      *error = "can't make the directory " + dir + ": " + context::errno_text(failed);
      return -1;
    }
    fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  struct stat s {};
  if (fd < 0 || ::fstat(fd, &s) != 0) {
    const int failed = errno;
    const bool link = ::lstat(dir.c_str(), &s) == 0 && S_ISLNK(s.st_mode);
    *error = dir + (link ? " is a symbolic link, which is not followed"
                         : " can't be opened as a directory: " + context::errno_text(failed));
  } else if (const auto why = others_place(dir, s); why.empty() || place == Place::kChosen) {
    file->others_can_remove = !why.empty();
    return fd;
  } else {
    *error = why;
  }
  if (fd >= 0) ::close(fd);
  return -1;
}

// Not one of the first three: in a job that has closed its standard error, what anybody prints
// there would be in the file.
int off_standard_files(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int failed = errno;
  ::close(fd);
  errno = failed;
  return moved;
}

}  // namespace

PathFields path_fields() {
  const std::vector<std::string> jobs = config::job_ids();
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const context::Utc now = context::utc(static_cast<std::uint64_t>(::time(nullptr)));
  return {host.data(), jobs.empty() ? std::string() : jobs.front(),
          fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", now.year, now.month, now.day, now.hour,
                      now.minute, now.second)};
}

std::string expand_pattern(std::string_view pattern, const PathFields& fields) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'h':
        path += name_part(fields.host, "localhost");
        break;
      case 'p':
        path += std::to_string(::getpid());
        break;
      case 'u':
        path += std::to_string(::geteuid());
        break;
      case 'j':
        path += name_part(fields.job, "nojob");
        break;
      case 't':
        path += fields.start_time;
        break;
      case '%':
        path += '%';
        break;
      default:
        path.append({'%', pattern[i]});
    }
  }
  return path;
}

std::string default_place() {
  const std::string_view file = config::kDefaultFile;
  return expand_pattern(file.substr(0, file.rfind('/')), {});
}

SafeFile create_file(const std::string& path, bool read_too, Place place) {
  SafeFile file;
  const std::size_t slash = path.rfind('/');
  const std::string dir = slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty()) {
    file.error = path + " names a directory, not a file";
    return file;
  }
  file.dir_fd = open_directory(dir, place, &file);
  if (file.dir_fd < 0) return file;
  const int flags = (read_too ? O_RDWR : O_WRONLY | O_APPEND) | O_CREAT | O_EXCL | O_NOFOLLOW |
                    O_CLOEXEC | O_NOCTTY;
  for (int suffix = 0; suffix <= kMostSuffixes + kMostRandom; ++suffix) {
    std::uint32_t random = 0;
    if (suffix > kMostSuffixes && ::getentropy(&random, sizeof(random)) != 0) break;
    const std::string tail = suffix == 0               ? ""
                             : suffix <= kMostSuffixes ? fmt::format(".{}", suffix)
                                                       : fmt::format(".{:08x}", random);
    file.fd = off_standard_files(::openat(file.dir_fd, (name + tail).c_str(), flags, 0600));
    if (file.fd >= 0) {
      file.name = name + tail;
      file.path = path + tail;
      return file;
    }
    if (errno != EEXIST) break;
  }
  file.error = "can't create " + path + ": " + context::errno_text(errno);
  file.close();
  return file;
}

SafeFile open_own_file(const std::string& directory, const std::string& name) {
  SafeFile file;
  file.path = directory + '/' + name;
  file.name = name;
  if (directory.empty() || name.find('/') != std::string::npos) {
    file.error = file.path + " is no name in a directory";
    return file;
  }
  file.dir_fd = open_directory(directory, Place::kDefault, &file);
  if (file.dir_fd < 0) return file;
  constexpr int kHow = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  file.fd = off_standard_files(::openat(file.dir_fd, name.c_str(), kHow, 0600));
  struct stat s {};
  if (file.fd < 0)
    file.error = "can't open " + file.path + ": " + context::errno_text(errno);
  else if (::fstat(file.fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != ::geteuid() ||
           (s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    file.error = file.path + " is no file of this user's alone";
  if (!file.error.empty()) file.close();
  return file;
}

std::string file_in(std::string path, const std::string& name) {
  struct stat s {};
  if (!path.ends_with('/') && (::stat(path.c_str(), &s) != 0 || !S_ISDIR(s.st_mode))) return path;
  if (!path.ends_with('/')) path += '/';
  return path + name;
}

SafeFile create_default_file(const std::string& path, bool read_too,
                             const std::string& runtime_dir) {
  SafeFile file = create_file(path, read_too, Place::kDefault);
  if (file.fd >= 0) return file;
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash);
  if (runtime_dir.starts_with('/')) {
    SafeFile there = create_file(runtime_dir + "/nccl-net-diag" + name, read_too, Place::kDefault);
    if (there.fd >= 0) return there;
  }
  std::string dir = path.substr(0, slash) + "-XXXXXX";
  if (::mkdtemp(dir.data()) == nullptr) return file;
  SafeFile anew = create_file(dir + name, read_too, Place::kDefault);
  if (anew.fd >= 0) return anew;
  ::rmdir(dir.c_str());
  return file;
}

void SafeFile::remove() noexcept {
  struct stat ours {};
  struct stat named {};
  if (fd < 0 || ::fstat(fd, &ours) != 0) return;
  if (::fstatat(dir_fd, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
    ::unlinkat(dir_fd, name.c_str(), 0);
}

void SafeFile::close() noexcept {
  if (fd >= 0) ::close(fd);
  if (dir_fd >= 0) ::close(dir_fd);
  fd = dir_fd = -1;
}

}  // namespace nnd::record

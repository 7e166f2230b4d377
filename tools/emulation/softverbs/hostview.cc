#include "softverbs/hostview.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "softverbs/imports.h"

namespace softverbs {

namespace {

constexpr std::string_view kSys = "/sys";
// Set before the first slot is patched.
std::string g_sys_root;  // stands for /sys

bool is_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// What a machine's administrator and kernel tell NCCL outside /sys.
bool is_of_the_host(std::string_view path) {
  return path == kTopologyFile || path == "/etc/nccl.conf" || path.ends_with("/.nccl.conf") ||
         path == "/dev/kmsg" || is_below(path, "/var/log");
}

// The path to use instead of one under /sys or another of the host; others stay. The copy lives in
// the caller's Mapped.
class Mapped {
 public:
  explicit Mapped(const char* path) : path_(path) {
    const std::string_view given(path ? path : "");
    if (is_below(given, kSys))
      copy_ = g_sys_root + std::string(given.substr(kSys.size()));
    else if (is_of_the_host(given))
      copy_ = g_sys_root + "/" + stands_for(std::string(given));
    else
      return;
    path_ = copy_.c_str();
  }
  operator const char*() const { return path_; }
  bool moved() const { return !copy_.empty(); }

 private:
  std::string copy_;
  const char* path_;
};

// A resolved path below the root, as it would read below /sys.
bool to_sys(std::string& path) {
  if (path.compare(0, g_sys_root.size(), g_sys_root) != 0) return false;
  path.replace(0, g_sys_root.size(), kSys);
  return true;
}

int mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
}

// A GID slot's type that the kernel refuses to read (EINVAL) is an empty file here.
bool is_unreadable_type(std::string_view path, int file) {
  struct stat about {};
  return path.find("/gid_attrs/types/") != std::string_view::npos && ::fstat(file, &about) == 0 &&
         about.st_size == 0;
}

// What can be opened, and whose read() says EINVAL.
int unreadable_instead(int file) {
  ::close(file);
  return ::epoll_create1(EPOLL_CLOEXEC);
}

int own_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  if (path == nullptr) {  // NCCL asks so of a NIC that has no PCI place
    errno = EFAULT;
    return -1;
  }
  const Mapped mapped(path);
  const int file = ::open(mapped, flags, mode);
  return file >= 0 && mapped.moved() && is_unreadable_type(path, file) ? unreadable_instead(file)
                                                                       : file;
}

int own_openat(int dir, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  return ::openat(dir, Mapped(path), flags, mode);
}

FILE* own_fopen(const char* path, const char* mode) { return ::fopen(Mapped(path), mode); }
DIR* own_opendir(const char* path) { return ::opendir(Mapped(path)); }
int own_access(const char* path, int mode) { return ::access(Mapped(path), mode); }
int own_stat(const char* path, struct stat* out) { return ::stat(Mapped(path), out); }
int own_lstat(const char* path, struct stat* out) { return ::lstat(Mapped(path), out); }
int own_xstat(int, const char* path, struct stat* out) { return ::stat(Mapped(path), out); }
int own_lxstat(int, const char* path, struct stat* out) { return ::lstat(Mapped(path), out); }

char* own_realpath(const char* path, char* resolved) {
  const Mapped mapped(path);
  char* found = ::realpath(mapped, nullptr);
  if (!found || !mapped.moved()) {
    if (!found || !resolved) return found;
    std::snprintf(resolved, PATH_MAX, "%s", found);
    std::free(found);
    return resolved;
  }
  std::string text(found);
  std::free(found);
  to_sys(text);
  // Callers with no buffer of their own free the answer and may write up to PATH_MAX into it.
  char* out = resolved ? resolved : static_cast<char*>(std::malloc(PATH_MAX));
  if (out) std::snprintf(out, PATH_MAX, "%s", text.c_str());
  return out;
}

char* own_realpath_chk(const char* path, char* resolved, std::size_t) {
  return own_realpath(path, resolved);
}

ssize_t own_readlink(const char* path, char* buffer, std::size_t size) {
  const Mapped mapped(path);
  const ssize_t length = ::readlink(mapped, buffer, size);
  if (length <= 0 || !mapped.moved()) return length;
  std::string text(buffer, static_cast<std::size_t>(length));
  if (!to_sys(text)) return length;
  std::memcpy(buffer, text.data(), text.size());
  return static_cast<ssize_t>(text.size());
}

ssize_t own_readlinkat(int dir, const char* path, char* buffer, std::size_t size) {
  return ::readlinkat(dir, Mapped(path), buffer, size);
}

// A rank may run on any CPU of its host, and NCCL's choice among them changes nothing here.
int own_sched_getaffinity(pid_t, std::size_t size, cpu_set_t* set) {
  std::memset(set, 0xff, size);
  return 0;
}
int own_sched_setaffinity(pid_t, std::size_t, const cpu_set_t*) { return 0; }

// What official libraries import for this (readelf -r of 2.18.3 to 2.32.3), and what a build of a
// newer compiler would.
const Import kImports[] = {redirected("open", own_open),
                           redirected("open64", own_open),
                           redirected("openat", own_openat),
                           redirected("openat64", own_openat),
                           redirected("fopen", own_fopen),
                           redirected("fopen64", own_fopen),
                           redirected("opendir", own_opendir),
                           redirected("access", own_access),
                           redirected("stat", own_stat),
                           redirected("stat64", own_stat),
                           redirected("lstat", own_lstat),
                           redirected("lstat64", own_lstat),
                           redirected("__xstat", own_xstat),
                           redirected("__xstat64", own_xstat),
                           redirected("__lxstat", own_lxstat),
                           redirected("__lxstat64", own_lxstat),
                           redirected("realpath", own_realpath),
                           redirected("__realpath_chk", own_realpath_chk),
                           redirected("readlink", own_readlink),
                           redirected("readlinkat", own_readlinkat),
                           redirected("sched_getaffinity", own_sched_getaffinity),
                           redirected("sched_setaffinity", own_sched_setaffinity)};

}  // namespace

std::string show_host(void* module, const std::string& root) {
  std::error_code error;
  const auto real = std::filesystem::canonical(root, error);
  if (error) return root + ": " + error.message();
  g_sys_root = real.string();
  return redirect_imports(module, kImports, std::size(kImports));
}

}  // namespace softverbs

// Functions of newer C libraries that have no older version, for a plugin that loads with glibc
// 2.28: our code and the C++ runtime that is linked in call them when built with a newer one.
// Hidden, so nobody else does. See cmake/NndGlibcFloor.cmake.
#include <dlfcn.h>
#include <features.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {

#if __GLIBC_PREREQ(2, 30)
HIDDEN pid_t gettid() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

// What a condition_variable waits with until a time of the steady clock: as libstdc++ did before,
// the rest of the time is taken over to the clock that a condition has by default.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until) {
  constexpr long kSecond = 1'000'000'000;  // ns
  timespec now{};
  timespec deadline{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += until->tv_sec - now.tv_sec;
  deadline.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (deadline.tv_nsec < 0) {
    deadline.tv_nsec += kSecond;
    --deadline.tv_sec;
  } else if (deadline.tv_nsec >= kSecond) {
    deadline.tv_nsec -= kSecond;
    ++deadline.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &deadline);
}
#endif

#if __GLIBC_PREREQ(2, 32)
// Zero means: there may be several threads.
HIDDEN char __libc_single_threaded = 0;
#endif

#if __GLIBC_PREREQ(2, 33)
// The stat family took the version of struct stat until 2.33.
#ifdef __x86_64__
constexpr int kStatVersion = 1;
#else
constexpr int kStatVersion = 0;
#endif
int __xstat(int version, const char* path, struct stat* out);
int __lxstat(int version, const char* path, struct stat* out);
int __fxstat(int version, int fd, struct stat* out);
int __fxstatat(int version, int dir, const char* path, struct stat* out, int flags);

HIDDEN int stat(const char* path, struct stat* out) noexcept {
  return __xstat(kStatVersion, path, out);
}
HIDDEN int lstat(const char* path, struct stat* out) noexcept {
  return __lxstat(kStatVersion, path, out);
}
HIDDEN int fstat(int fd, struct stat* out) noexcept { return __fxstat(kStatVersion, fd, out); }
HIDDEN int fstatat(int dir, const char* path, struct stat* out, int flags) noexcept {
  return __fxstatat(kStatVersion, dir, path, out, flags);
}

// The names that libstdc++ uses for the same functions and, on 64-bit machines, the same struct.
HIDDEN int stat64(const char* path, struct stat64* out) noexcept {
  return stat(path, reinterpret_cast<struct stat*>(out));
}
HIDDEN int lstat64(const char* path, struct stat64* out) noexcept {
  return lstat(path, reinterpret_cast<struct stat*>(out));
}
HIDDEN int fstat64(int fd, struct stat64* out) noexcept {
  return fstat(fd, reinterpret_cast<struct stat*>(out));
}
HIDDEN int fstatat64(int dir, const char* path, struct stat64* out, int flags) noexcept {
  return fstatat(dir, path, reinterpret_cast<struct stat*>(out), flags);
}
static_assert(sizeof(struct stat) == sizeof(struct stat64));
#endif

#if __GLIBC_PREREQ(2, 36)
HIDDEN std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) std::abort();
  }
  return value;
}
#endif

#if __GLIBC_PREREQ(2, 38)
// C23 lets these read binary numbers; headers of 2.38 send every caller to the new names.
long old_strtol(const char* text, char** end, int base) __asm__("strtol");
long long old_strtoll(const char* text, char** end, int base) __asm__("strtoll");
unsigned long old_strtoul(const char* text, char** end, int base) __asm__("strtoul");
unsigned long long old_strtoull(const char* text, char** end, int base) __asm__("strtoull");
int old_vsscanf(const char* text, const char* format, va_list arguments) __asm__("vsscanf");

HIDDEN long __isoc23_strtol(const char* text, char** end, int base) noexcept {
  return old_strtol(text, end, base);
}
HIDDEN long long __isoc23_strtoll(const char* text, char** end, int base) noexcept {
  return old_strtoll(text, end, base);
}
HIDDEN unsigned long __isoc23_strtoul(const char* text, char** end, int base) noexcept {
  return old_strtoul(text, end, base);
}
HIDDEN unsigned long long __isoc23_strtoull(const char* text, char** end, int base) noexcept {
  return old_strtoull(text, end, base);
}
HIDDEN int __isoc23_sscanf(const char* text, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const int read = old_vsscanf(text, format, arguments);
  va_end(arguments);
  return read;
}
#endif

#if __GLIBC_PREREQ(2, 35)
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

int holds(dl_phdr_info* info, std::size_t, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  bool found = false;
  const ElfW(Phdr)* frames = nullptr;
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type == PT_GNU_EH_FRAME) frames = &p;
    if (p.p_type != PT_LOAD) continue;
    const std::uintptr_t at = info->dlpi_addr + p.p_vaddr;
    found |= search.address >= at && search.address < at + p.p_memsz;
    if (at < begin) begin = at;
    if (at + p.p_memsz > end) end = at + p.p_memsz;
  }
  if (!found) return 0;
  if (frames == nullptr) return -1;
  // NOLINTBEGIN(performance-no-int-to-ptr): the loader gives addresses as numbers
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.result->dlfo_map_end = reinterpret_cast<void*>(end);
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + frames->p_vaddr);
  // NOLINTEND(performance-no-int-to-ptr)
  return 1;
}

}  // namespace

// The unwinder's question where an address has its unwind table; it takes no for an answer and then
// ends the process, so this one answers as the older dl_iterate_phdr allows.
HIDDEN int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(holds, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"

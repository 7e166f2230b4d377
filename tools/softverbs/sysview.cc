#include "softverbs/sysview.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace softverbs {

namespace {

constexpr std::string_view kSys = "/sys";
std::string sys_root;  // stands for /sys; set before the first slot is patched

// The path to use instead of one under /sys; others stay. The copy lives in the caller's Mapped.
class Mapped {
 public:
  explicit Mapped(const char* path) : path_(path) {
    const std::string_view given(path ? path : "");
    if (given.substr(0, kSys.size()) != kSys) return;
    if (given.size() > kSys.size() && given[kSys.size()] != '/') return;
    copy_ = sys_root + std::string(given.substr(kSys.size()));
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
  if (path.compare(0, sys_root.size(), sys_root) != 0) return false;
  path.replace(0, sys_root.size(), kSys);
  return true;
}

int mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
}

int own_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  return ::open(Mapped(path), flags, mode);
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

struct Replacement {
  const char* name;
  void* function;
};

template <typename Function>
Replacement replace(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

// What official libraries import for sysfs (readelf -r of 2.18.3 to 2.32.3), and what a build of a
// newer compiler would.
const Replacement kReplacements[] = {
    replace("open", own_open),         replace("open64", own_open),
    replace("openat", own_openat),     replace("openat64", own_openat),
    replace("fopen", own_fopen),       replace("fopen64", own_fopen),
    replace("opendir", own_opendir),   replace("access", own_access),
    replace("stat", own_stat),         replace("stat64", own_stat),
    replace("lstat", own_lstat),       replace("lstat64", own_lstat),
    replace("__xstat", own_xstat),     replace("__xstat64", own_xstat),
    replace("__lxstat", own_lxstat),   replace("__lxstat64", own_lxstat),
    replace("realpath", own_realpath), replace("__realpath_chk", own_realpath_chk),
    replace("readlink", own_readlink), replace("readlinkat", own_readlinkat)};

#if defined(__x86_64__)
bool is_slot(std::uint64_t type) { return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT; }
#elif defined(__aarch64__)
bool is_slot(std::uint64_t type) {
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}
#else
#error "relocation types of this machine are not known"
#endif

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * rela = nullptr;
  std::size_t rela_size = 0;
  const ElfW(Rela) * plt = nullptr;
  std::size_t plt_size = 0;
};

Tables tables_of(const link_map& map) {
  Tables tables;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(value);
        break;
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(value);
        break;
      case DT_RELA:
        tables.rela = reinterpret_cast<const ElfW(Rela)*>(value);
        break;
      case DT_RELASZ:
        tables.rela_size = value / sizeof(ElfW(Rela));
        break;
      case DT_JMPREL:
        tables.plt = reinterpret_cast<const ElfW(Rela)*>(value);
        break;
      case DT_PLTRELSZ:
        tables.plt_size = value / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
  return tables;
}

// The page may be read-only by now (RELRO). It stays writable: lazily bound slots may share it.
bool write_slot(void** slot, void* function) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1));
  if (::mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, function, __ATOMIC_RELEASE);
  return true;
}

std::string patch(const link_map& map, const Tables& tables, const ElfW(Rela) * relocations,
                  std::size_t count, int& patched) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_slot(ELF64_R_TYPE(relocations[i].r_info))) continue;
    const auto& symbol = tables.symbols[ELF64_R_SYM(relocations[i].r_info)];
    const std::string_view name(tables.names + symbol.st_name);
    for (const Replacement& replacement : kReplacements) {
      if (name != replacement.name) continue;
      auto** slot = reinterpret_cast<void**>(map.l_addr + relocations[i].r_offset);
      if (!write_slot(slot, replacement.function))
        return std::string("the slot of ") + replacement.name +
               " cannot be written: " + std::strerror(errno);
      ++patched;
    }
  }
  return "";
}

}  // namespace

std::string redirect_sysfs(void* module, const std::string& root) {
  std::error_code error;
  const auto real = std::filesystem::canonical(root, error);
  if (error) return root + ": " + error.message();
  sys_root = real.string();
  link_map* map = nullptr;
  if (::dlinfo(module, RTLD_DI_LINKMAP, &map) != 0 || !map) return "not a loaded module";
  const Tables tables = tables_of(*map);
  if (!tables.symbols || !tables.names) return std::string(map->l_name) + " has no symbol table";
  int patched = 0;
  std::string wrong = patch(*map, tables, tables.rela, tables.rela_size, patched);
  if (wrong.empty()) wrong = patch(*map, tables, tables.plt, tables.plt_size, patched);
  if (wrong.empty() && patched == 0) wrong = std::string(map->l_name) + " opens no files by itself";
  return wrong;
}

}  // namespace softverbs

#include "softverbs/imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

namespace softverbs {
namespace {

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
                  std::size_t count, std::span<const Import> imports, int& patched) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_slot(ELF64_R_TYPE(relocations[i].r_info))) continue;
    const auto& symbol = tables.symbols[ELF64_R_SYM(relocations[i].r_info)];
    const std::string_view name(tables.names + symbol.st_name);
    for (const Import& import : imports) {
      if (name != import.name) continue;
      auto** slot = reinterpret_cast<void**>(map.l_addr + relocations[i].r_offset);
      if (!write_slot(slot, import.function))
        return std::string("the slot of ") + import.name +
               " cannot be written: " + std::strerror(errno);
      ++patched;
    }
  }
  return "";
}

}  // namespace

std::string redirect_imports(void* module, const Import* imports, std::size_t count) {
  link_map* map = nullptr;
  if (::dlinfo(module, RTLD_DI_LINKMAP, &map) != 0 || !map) return "not a loaded module";
  const Tables tables = tables_of(*map);
  if (!tables.symbols || !tables.names) return std::string(map->l_name) + " has no symbol table";
  const std::span all(imports, count);
  int patched = 0;
  std::string wrong = patch(*map, tables, tables.rela, tables.rela_size, all, patched);
  if (wrong.empty()) wrong = patch(*map, tables, tables.plt, tables.plt_size, all, patched);
  if (wrong.empty() && patched == 0)
    wrong = std::string(map->l_name) + " imports none of the functions to redirect";
  return wrong;
}

}  // namespace softverbs

#include "inner/slots.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

#include "context/errno_text.h"
#include "inner/relocations.h"

namespace nnd::inner {
namespace {

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Half) * versions = nullptr;
  const ElfW(Verneed) * needs = nullptr;
  std::size_t need_count = 0;
  const ElfW(Rela) * jump = nullptr;
  std::size_t jump_bytes = 0;
  const ElfW(Rela) * data = nullptr;
  std::size_t data_bytes = 0;
};

Tables tables_of(const Module& module) {
  const auto at = [&]<class T>(const T*& table, ElfW(Sxword) tag) {
    table = reinterpret_cast<const T*>(module.dynamic_address(tag));
  };
  Tables t;
  at(t.symbols, DT_SYMTAB);
  at(t.strings, DT_STRTAB);
  at(t.versions, DT_VERSYM);
  at(t.needs, DT_VERNEED);
  at(t.jump, DT_JMPREL);
  at(t.data, DT_RELA);
  t.need_count = module.dynamic_value(DT_VERNEEDNUM);
  t.jump_bytes = module.dynamic_value(DT_PLTRELSZ);
  t.data_bytes = module.dynamic_value(DT_RELASZ);
  return t;
}

std::string_view node_of_symbol(const Tables& t, std::size_t symbol) {
  if (t.versions == nullptr || t.needs == nullptr) return {};
  const ElfW(Half) wanted = t.versions[symbol] & 0x7fffU;
  const auto* need = t.needs;
  for (std::size_t i = 0; i < t.need_count; ++i) {
    const auto* base = reinterpret_cast<const char*>(need);
    const auto* aux = reinterpret_cast<const ElfW(Vernaux)*>(base + need->vn_aux);
    for (std::size_t j = 0; j < need->vn_cnt; ++j) {
      if ((aux->vna_other & 0x7fffU) == wanted) return t.strings + aux->vna_name;
      aux = reinterpret_cast<const ElfW(Vernaux)*>(reinterpret_cast<const char*>(aux) +
                                                   aux->vna_next);
    }
    need = reinterpret_cast<const ElfW(Verneed)*>(base + need->vn_next);
  }
  return {};
}

// How the page is mapped now; -1: unknown. Asked of the kernel, since RELRO covers whole pages only
// and a sandbox may have changed more.
int protection_of(std::uintptr_t address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return -1;
  int protection = -1;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char flags[5] = {};
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, flags) != 3) continue;
    if (address < from || address >= to) continue;
    protection = (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
                 (flags[2] == 'x' ? PROT_EXEC : 0);
    break;
  }
  (void)std::fclose(maps);
  return protection;
}

std::string write_slot(std::uintptr_t slot, void* value) {
  auto** const target = reinterpret_cast<void**>(slot);
  const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* const page = reinterpret_cast<void*>(slot / page_size * page_size);
  const int protection = protection_of(slot);
  if (protection < 0) return "/proc/self/maps does not tell how the slot is mapped";
  const bool writable = (protection & PROT_WRITE) != 0;
  if (!writable && ::mprotect(page, page_size, protection | PROT_WRITE) != 0)
    return "mprotect: " + context::errno_text(errno);
  __atomic_store_n(target, value, __ATOMIC_RELEASE);
  if (!writable) (void)::mprotect(page, page_size, protection);
  return {};
}

void redirect_table(const Module& module, const Tables& t, const ElfW(Rela) * table,
                    std::size_t bytes, const std::function<void*(const Import&)>& replace,
                    SlotResult& result) {
  for (std::size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(table[i].r_info));
    // A compiler may also put the address of a function into a table of constants.
    const bool constant = type == kAbsolute && table[i].r_addend == 0;
    if (type != kJumpSlot && type != kGlobDat && !constant) continue;
    const std::size_t index = ELF64_R_SYM(table[i].r_info);
    const ElfW(Sym)& symbol = t.symbols[index];
    if (symbol.st_shndx != SHN_UNDEF) continue;  // the module's own
    const std::string_view name = t.strings + symbol.st_name;
    if (name.size() < 4) continue;
    void* value = replace(Import{name, node_of_symbol(t, index)});
    if (value == nullptr) continue;
    const std::uintptr_t slot = module.base + table[i].r_offset;
    if (__atomic_load_n(reinterpret_cast<void**>(slot), __ATOMIC_ACQUIRE) != value) {
      const std::string error = write_slot(slot, value);
      if (!error.empty()) {
        result.error = error;
        continue;
      }
    }
    ++result.slots;
  }
}

}  // namespace

SlotResult redirect(const Module& module, const std::function<void*(const Import&)>& replace) {
  SlotResult result;
  const Tables t = tables_of(module);
  if (t.symbols == nullptr || t.strings == nullptr) return result;
  redirect_table(module, t, t.jump, t.jump_bytes, replace, result);
  redirect_table(module, t, t.data, t.data_bytes, replace, result);
  return result;
}

}  // namespace nnd::inner

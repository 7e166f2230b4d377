#include "inner/slots.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
  std::size_t relative = 0;  // so many of `data`, its first, name no symbol
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
  t.relative = module.dynamic_value(DT_RELACOUNT);
  return t;
}

// The names of the versions that the module needs, by the index that its symbols have.
std::vector<std::string_view> needed_nodes(const Tables& t) {
  std::vector<std::string_view> nodes;
  if (t.versions == nullptr || t.needs == nullptr) return nodes;
  const auto* need = t.needs;
  for (std::size_t i = 0; i < t.need_count; ++i) {
    const auto* base = reinterpret_cast<const char*>(need);
    const auto* aux = reinterpret_cast<const ElfW(Vernaux)*>(base + need->vn_aux);
    for (std::size_t j = 0; j < need->vn_cnt; ++j) {
      const std::size_t index = aux->vna_other & 0x7fffU;
      if (nodes.size() <= index) nodes.resize(index + 1);
      nodes[index] = t.strings + aux->vna_name;
      aux = reinterpret_cast<const ElfW(Vernaux)*>(reinterpret_cast<const char*>(aux) +
                                                   aux->vna_next);
    }
    need = reinterpret_cast<const ElfW(Verneed)*>(base + need->vn_next);
  }
  return nodes;
}

struct Mapped {
  std::uintptr_t from, to;
  int protection;
};

// How the module is mapped now. Asked of the kernel, since RELRO covers whole pages only and a
// sandbox may have changed more.
std::vector<Mapped> mapped(const Module& module) {
  std::vector<Mapped> out;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return out;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char flags[5] = {};
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, flags) != 3) continue;
    for (const Segment& segment : module.segments)
      if (from < segment.end && to > segment.begin) {
        out.push_back({from, to,
                       (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
                           (flags[2] == 'x' ? PROT_EXEC : 0)});
        break;
      }
  }
  (void)std::fclose(maps);
  return out;
}

class Redirection {
 public:
  Redirection(const Module& module, const std::function<void*(const Import&)>& replace)
      : module_(module), tables_(tables_of(module)), replace_(replace) {}

  SlotResult run() {
    if (tables_.symbols == nullptr || tables_.strings == nullptr) return result_;
    nodes_ = needed_nodes(tables_);
    const std::span jump(tables_.jump, tables_.jump_bytes / sizeof(ElfW(Rela)));
    const std::span data(tables_.data, tables_.data_bytes / sizeof(ElfW(Rela)));
    for (const ElfW(Rela) & one : jump) take(one);
    for (const ElfW(Rela) & one : data.subspan(std::min(tables_.relative, data.size()))) take(one);
    return result_;
  }

 private:
  void take(const ElfW(Rela) & relocation) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
    // A compiler may also put the address of a function into a table of constants.
    const bool constant = type == kAbsolute && relocation.r_addend == 0;
    if (type != kJumpSlot && type != kGlobDat && !constant) return;
    const std::size_t index = ELF64_R_SYM(relocation.r_info);
    const ElfW(Sym)& symbol = tables_.symbols[index];
    if (symbol.st_shndx != SHN_UNDEF) return;  // the module's own
    const std::string_view name = tables_.strings + symbol.st_name;
    if (name.size() < 4) return;
    void* value = replace_(Import{name, node_of(index)});
    if (value == nullptr) return;
    const std::uintptr_t slot = module_.base + relocation.r_offset;
    if (__atomic_load_n(reinterpret_cast<void**>(slot), __ATOMIC_ACQUIRE) != value) {
      std::string error = write(slot, value);
      if (!error.empty()) {
        result_.error = std::move(error);
        return;
      }
    }
    ++result_.slots;
  }

  std::string_view node_of(std::size_t symbol) const {
    const std::size_t wanted = tables_.versions == nullptr ? 0 : tables_.versions[symbol] & 0x7fffU;
    return wanted < nodes_.size() ? nodes_[wanted] : std::string_view();
  }

  std::string write(std::uintptr_t slot, void* value) {
    if (!mapped_) mapped_ = mapped(module_);
    const auto place = std::find_if(mapped_->begin(), mapped_->end(), [slot](const Mapped& one) {
      return slot >= one.from && slot < one.to;
    });
    if (place == mapped_->end()) return "/proc/self/maps does not tell how the slot is mapped";
    auto** const target = reinterpret_cast<void**>(slot);
    const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto* const page = reinterpret_cast<void*>(slot / page_size * page_size);
    const bool writable = (place->protection & PROT_WRITE) != 0;
    if (!writable && ::mprotect(page, page_size, place->protection | PROT_WRITE) != 0)
      return "mprotect: " + context::errno_text(errno);
    __atomic_store_n(target, value, __ATOMIC_RELEASE);
    if (!writable) (void)::mprotect(page, page_size, place->protection);
    return {};
  }

  const Module& module_;
  const Tables tables_;
  const std::function<void*(const Import&)>& replace_;
  std::vector<std::string_view> nodes_;
  std::optional<std::vector<Mapped>> mapped_;
  SlotResult result_;
};

}  // namespace

SlotResult redirect(const Module& module, const std::function<void*(const Import&)>& replace) {
  return Redirection(module, replace).run();
}

}  // namespace nnd::inner

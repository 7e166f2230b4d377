#include "inner/module.h"

#include <algorithm>
#include <cstring>

#include "context/immortal.h"

namespace nnd::inner {
namespace {

// NOLINTBEGIN(performance-no-int-to-ptr): the loader gives addresses as numbers
bool read_module(const dl_phdr_info& info, Module* out) {
  out->base = info.dlpi_addr;
  out->path = info.dlpi_name != nullptr ? info.dlpi_name : "";
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    const std::uintptr_t at = info.dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_LOAD) out->segments.push_back({at, at + p.p_memsz, p.p_flags});
  }
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    const std::uintptr_t at = info.dlpi_addr + p.p_vaddr;
    if (!out->covers(at, p.p_memsz)) continue;
    if (p.p_type == PT_DYNAMIC) {
      out->dynamic = reinterpret_cast<const ElfW(Dyn)*>(at);
    } else if (p.p_type == PT_NOTE && out->build_id.empty()) {
      out->build_id =
          build_id_in_notes(reinterpret_cast<const std::byte*>(at), p.p_memsz, p.p_align);
    }
  }
  return out->dynamic != nullptr && out->path.rfind("linux-vdso", 0) != 0;
}
// NOLINTEND(performance-no-int-to-ptr)

// The loader names the main program, which comes first, with an empty string.
int collect(dl_phdr_info* info, std::size_t /*size*/, void* list) {
  auto& modules = *static_cast<std::vector<Module>*>(list);
  Module m;
  if (read_module(*info, &m)) {
    if (m.path.empty()) m.path = "/proc/self/exe";
    modules.push_back(std::move(m));
  }
  return 0;
}

std::uint32_t gnu_hash(const char* name) {
  std::uint32_t h = 5381;
  for (; *name != '\0'; ++name) h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

std::uint32_t sysv_hash(const char* name) {
  std::uint32_t h = 0;
  for (; *name != '\0'; ++name) {
    h = (h << 4) + static_cast<unsigned char>(*name);
    const std::uint32_t g = h & 0xf0000000U;
    h = (h ^ (g >> 24)) & ~g;
  }
  return h;
}

struct DynamicSymbols {
  const ElfW(Sym) * table;
  const char* names;
  std::uintptr_t base;

  const void* match(std::uint32_t index, const char* name) const {
    const ElfW(Sym)& s = table[index];
    if (s.st_shndx == SHN_UNDEF || s.st_value == 0) return nullptr;
    if (std::strcmp(names + s.st_name, name) != 0) return nullptr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const void*>(base + s.st_value);
  }
};

// DT_GNU_HASH: four words (buckets, first hashed symbol, Bloom words, shift), the Bloom filter,
// the buckets, then one hash per symbol whose lowest bit ends a chain.
const void* find_gnu(const std::uint32_t* table, const DynamicSymbols& symbols, const char* name) {
  const std::uint32_t buckets = table[0];
  const std::uint32_t first = table[1];
  const std::uint32_t* bucket = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = bucket + buckets;
  const std::uint32_t hash = gnu_hash(name);
  std::uint32_t i = buckets == 0 ? 0 : bucket[hash % buckets];
  if (i < first || i == 0) return nullptr;
  for (;; ++i) {
    const std::uint32_t h = chain[i - first];
    if ((h | 1U) == (hash | 1U)) {
      if (const void* found = symbols.match(i, name)) return found;
    }
    if ((h & 1U) != 0) return nullptr;
  }
}

// DT_HASH: number of buckets and of chain words, the buckets, the chains.
const void* find_sysv(const std::uint32_t* table, const DynamicSymbols& symbols, const char* name) {
  const std::uint32_t buckets = table[0];
  if (buckets == 0) return nullptr;
  const std::uint32_t* chain = table + 2 + buckets;
  for (std::uint32_t i = table[2 + sysv_hash(name) % buckets]; i != 0; i = chain[i]) {
    if (const void* found = symbols.match(i, name)) return found;
  }
  return nullptr;
}

}  // namespace

bool Module::covers(std::uintptr_t address, std::size_t size, std::uint32_t flags) const {
  return std::any_of(segments.begin(), segments.end(), [&](const Segment& s) {
    return address >= s.begin && address < s.end && size <= s.end - address &&
           (s.flags & flags) == flags;
  });
}

std::uintptr_t Module::dynamic_value(ElfW(Sxword) tag) const {
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == tag) return d->d_un.d_val;
  }
  return 0;
}

// glibc replaces some of the file's addresses by those of the process and leaves others (DT_RELR).
std::uintptr_t Module::dynamic_address(ElfW(Sxword) tag) const {
  const std::uintptr_t value = dynamic_value(tag);
  if (value == 0 || covers(value, 1)) return value;
  return covers(base + value, 1) ? base + value : 0;
}

bool same_module(const Module& a, const Module& b) {
  return a.base == b.base && a.dynamic == b.dynamic && a.path == b.path && a.build_id == b.build_id;
}

std::vector<Module> all_modules() {
  std::vector<Module> modules;
  dl_iterate_phdr(collect, &modules);
  return modules;
}

std::optional<Module> module_of(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (Module& m : all_modules()) {
    if (m.covers(at, 1, 0)) return std::move(m);
  }
  return std::nullopt;
}

const Module& own_module() {
  static const char here = 0;
  static context::Immortal<Module> own(module_of(&here).value_or(Module{}));
  return *own;
}

const void* exported_symbol(const Module& module, const char* name) {
  const std::uintptr_t table = module.dynamic_address(DT_SYMTAB);
  const std::uintptr_t names = module.dynamic_address(DT_STRTAB);
  if (table == 0 || names == 0) return nullptr;
  // NOLINTBEGIN(performance-no-int-to-ptr)
  const DynamicSymbols symbols{reinterpret_cast<const ElfW(Sym)*>(table),
                               reinterpret_cast<const char*>(names), module.base};
  if (const std::uintptr_t gnu = module.dynamic_address(DT_GNU_HASH)) {
    return find_gnu(reinterpret_cast<const std::uint32_t*>(gnu), symbols, name);
  }
  if (const std::uintptr_t sysv = module.dynamic_address(DT_HASH)) {
    return find_sysv(reinterpret_cast<const std::uint32_t*>(sysv), symbols, name);
  }
  // NOLINTEND(performance-no-int-to-ptr)
  return nullptr;
}

std::string build_id_in_notes(const std::byte* notes, std::size_t size, std::size_t align) {
  const std::size_t mask = align == 8 ? 7 : 3;
  const auto padded = [mask](std::size_t n) { return (n + mask) & ~mask; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t text = padded(name + note.n_namesz);
    const std::size_t next = padded(text + note.n_descsz);
    if (text < name || next < text || text + note.n_descsz > size) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      return {reinterpret_cast<const char*>(notes + text), note.n_descsz};
    }
    at = next;
  }
  return {};
}

std::string hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

}  // namespace nnd::inner

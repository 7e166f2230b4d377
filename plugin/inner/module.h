// What is loaded into this process: ELF modules as the loader maps them.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nnd::inner {

struct Segment {
  std::uintptr_t begin = 0;  // addresses in this process; end is one past
  std::uintptr_t end = 0;
  std::uint32_t flags = 0;  // PF_R, PF_W, PF_X
};

// A snapshot: stays readable after the module is unloaded, its addresses don't.
struct Module {
  std::string path;         // as the loader knows it; /proc/self/exe for the main program
  std::uintptr_t base = 0;  // load bias: what is added to the addresses of the file
  const ElfW(Dyn) * dynamic = nullptr;
  std::vector<Segment> segments;
  std::string build_id;  // raw bytes, from memory; empty if it has none

  // The whole range [address, address + size) lies in one mapped segment with all these flags.
  bool covers(std::uintptr_t address, std::size_t size, std::uint32_t flags = PF_R) const;
  // The value of an entry of PT_DYNAMIC; addresses are those of this process. 0 if there is none.
  std::uintptr_t dynamic_value(ElfW(Sxword) tag) const;
  std::uintptr_t dynamic_address(ElfW(Sxword) tag) const;
};

bool same_module(const Module& a, const Module& b);

// All modules, in the loader's order. Thread-safe. The vDSO and modules without PT_DYNAMIC are left
// out.
std::vector<Module> all_modules();
std::optional<Module> module_of(const void* address);
// The module that this very code is linked into.
const Module& own_module();

// The address of a symbol that the module itself defines and exports, or null. No search in other
// modules, no version.
const void* exported_symbol(const Module& module, const char* name);

// Raw build id bytes from a block of ELF notes padded to align (4 or 8), or empty.
std::string build_id_in_notes(const std::byte* notes, std::size_t size, std::size_t align);
std::string hex(const std::string& bytes);

}  // namespace nnd::inner

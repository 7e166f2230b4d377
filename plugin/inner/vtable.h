// Tables of functions in a module's memory: does this place hold the one that is looked for, and
// which places do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inner/elf_file.h"
#include "inner/module.h"

namespace nnd::inner {

// A table is a pointer to its name, then one word per slot: F a function of the module, 0 null.
struct Shape {
  std::string_view name;
  std::string slots;
  std::size_t size() const { return (1 + slots.size()) * sizeof(void*); }  // bytes
};

// Where a module's functions are: its executable sections, or, without section headers, its
// executable segments (which with older linkers hold the read-only data as well).
std::vector<Segment> code_ranges(const Module& module, const ElfFile& file);

// Empty when the words at `address` fit; else one clause saying which word doesn't.
std::string mismatch(const Module& module, const std::vector<Segment>& code, const Shape& shape,
                     std::uintptr_t address);

// Every place in the module that fits: a slot that the loader relocated (RELATIVE, packed RELR, or
// against a symbol) and that now points to the name, followed by the slots of the shape. Reads the
// module's memory only.
std::vector<std::uintptr_t> scan(const Module& module, const std::vector<Segment>& code,
                                 const Shape& shape);

}  // namespace nnd::inner

#include "inner/vtable.h"

#include <algorithm>
#include <iterator>

#include "inner/memory.h"
#include "inner/relocations.h"

namespace nnd::inner {
namespace {

constexpr std::size_t kWord = sizeof(std::uintptr_t);

template <class Visit>
void each_rela(const Module& module, const Visit& visit) {
  const std::uintptr_t table = module.dynamic_address(DT_RELA);
  const std::size_t size = module.dynamic_value(DT_RELASZ);
  if (table == 0 || !module.covers(table, size)) return;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
  const auto* rela = reinterpret_cast<const ElfW(Rela)*>(table);
  for (std::size_t i = 0; i < size / sizeof *rela; ++i) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(rela[i].r_info));
    if (type == kRelative || type == kAbsolute) visit(module.base + rela[i].r_offset);
  }
}

// RELR: an even entry is the address of a slot; an odd one is a bitmap of the 63 words after the
// last slot or bitmap.
template <class Visit>
void each_relr(const Module& module, const Visit& visit) {
  constexpr std::size_t kBits = kWord * 8 - 1;
  const std::uintptr_t table = module.dynamic_address(DT_RELR);
  const std::size_t size = module.dynamic_value(DT_RELRSZ);
  if (table == 0 || !module.covers(table, size)) return;
  std::uintptr_t next = 0;
  for (std::size_t i = 0; i < size / kWord; ++i) {
    std::uintptr_t entry = word_at(table + i * kWord);
    if ((entry & 1) == 0) {
      visit(module.base + entry);
      next = module.base + entry + kWord;
      continue;
    }
    for (std::uintptr_t at = next; (entry >>= 1) != 0; at += kWord) {
      if ((entry & 1) != 0) visit(at);
    }
    next += kBits * kWord;
  }
}

bool names_it(const Module& module, std::uintptr_t text, std::string_view name) {
  return module.covers(text, name.size() + 1) && same_bytes(text, name.data(), name.size()) &&
         byte_at(text + name.size()) == '\0';
}

bool within(const std::vector<Segment>& ranges, std::uintptr_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Segment& s) { return address >= s.begin && address < s.end; });
}

}  // namespace

std::vector<Segment> code_ranges(const Module& module, const ElfFile& file) {
  std::vector<Segment> ranges = file.sections_with(SHF_ALLOC | SHF_EXECINSTR);
  for (Segment& s : ranges) {
    s.begin += module.base;
    s.end += module.base;
  }
  std::erase_if(ranges,
                [&](const Segment& s) { return !module.covers(s.begin, s.end - s.begin, PF_X); });
  if (!ranges.empty()) return ranges;
  std::copy_if(module.segments.begin(), module.segments.end(), std::back_inserter(ranges),
               [](const Segment& s) { return (s.flags & PF_X) != 0; });
  return ranges;
}

std::string mismatch(const Module& module, const std::vector<Segment>& code, const Shape& shape,
                     std::uintptr_t address) {
  if (address % kWord != 0 || !module.covers(address, shape.size())) {
    return "it is not in the library's memory";
  }
  if (!names_it(module, word_at(address), shape.name)) {
    return "its name is not \"" + std::string(shape.name) + '"';
  }
  for (std::size_t i = 0; i < shape.slots.size(); ++i) {
    const std::uintptr_t value = word_at(address + (1 + i) * kWord);
    const bool wanted = shape.slots[i] == 'F';
    if (wanted ? within(code, value) : value == 0) continue;
    const char* problem = wanted ? " is no function of this library" : " is not null";
    return "slot " + std::to_string(i + 1) + " of " + std::to_string(shape.slots.size()) + problem;
  }
  return {};
}

std::vector<std::uintptr_t> scan(const Module& module, const std::vector<Segment>& code,
                                 const Shape& shape) {
  std::vector<std::uintptr_t> found;
  const auto consider = [&](std::uintptr_t slot) {
    if (!module.covers(slot, kWord) || !names_it(module, word_at(slot), shape.name)) return;
    if (mismatch(module, code, shape, slot).empty()) found.push_back(slot);
  };
  each_rela(module, consider);
  each_relr(module, consider);
  return found;
}

}  // namespace nnd::inner

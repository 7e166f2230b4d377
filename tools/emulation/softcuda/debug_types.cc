#include "debug_types.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace softcuda {
namespace {

std::optional<Dwarf_Word> number(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(die, name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0)
    return std::nullopt;
  return value;
}

// Behind typedefs and qualifiers.
bool type_of(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  Dwarf_Die named;
  return dwarf_attr_integrate(die, DW_AT_type, &attribute) != nullptr &&
         dwarf_formref_die(&attribute, &named) != nullptr && dwarf_peel_type(&named, type) == 0;
}

DebugField field_of(Dwarf_Die* member) {
  DebugField field;
  field.offset = number(member, DW_AT_data_member_location).value_or(0);
  Dwarf_Die type;
  Dwarf_Word bytes = 0;
  if (type_of(member, &type) && dwarf_aggregate_size(&type, &bytes) == 0) field.bytes = bytes;
  if (const auto bits = number(member, DW_AT_bit_size)) {
    field.bits = static_cast<unsigned>(*bits);
    if (const auto first = number(member, DW_AT_data_bit_offset)) {
      field.first_bit = static_cast<unsigned>(*first);
    } else {  // up to DWARF 3: counted from the unit's most significant bit
      const auto above = number(member, DW_AT_bit_offset).value_or(0);
      field.first_bit = static_cast<unsigned>(8 * (field.offset + field.bytes) - above - *bits);
    }
  }
  return field;
}

std::optional<DebugField> find_in(Dwarf_Die* structure, std::string_view path) {
  const auto dot = path.find('.');
  const std::string_view wanted = path.substr(0, dot);
  Dwarf_Die member;
  if (dwarf_child(structure, &member) != 0) return std::nullopt;
  do {
    if (dwarf_tag(&member) != DW_TAG_member) continue;
    const char* name = dwarf_diename(&member);
    const bool unnamed = name == nullptr || *name == '\0';
    if (!unnamed && wanted != name) continue;
    const DebugField here = field_of(&member);
    if (!unnamed && dot == std::string_view::npos) return here;
    Dwarf_Die type;
    if (!type_of(&member, &type)) continue;
    auto inner = find_in(&type, unnamed ? path : path.substr(dot + 1));
    if (!inner) continue;
    inner->offset += here.offset;
    inner->first_bit += static_cast<unsigned>(inner->bits != 0 ? 8 * here.offset : 0);
    return inner;
  } while (dwarf_siblingof(&member, &member) == 0);
  return std::nullopt;
}

bool is_whole_structure(Dwarf_Die* die) {
  return dwarf_tag(die) == DW_TAG_structure_type && dwarf_hasattr(die, DW_AT_declaration) == 0;
}

}  // namespace

struct DebugTypes::Content {
  int file = -1;
  Dwarf* dwarf = nullptr;
  std::map<std::string, Dwarf_Die, std::less<>> structures;
};

DebugTypes::DebugTypes(const std::string& library, const std::vector<std::string_view>& names)
    : content_(std::make_unique<Content>()) {
  content_->file = open(library.c_str(), O_RDONLY | O_CLOEXEC);
  if (content_->file >= 0) content_->dwarf = dwarf_begin(content_->file, DWARF_C_READ);
  if (content_->dwarf == nullptr) return;
  auto& found = content_->structures;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root, each;
  while (found.size() < names.size() &&
         dwarf_get_units(content_->dwarf, unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    if (dwarf_child(&root, &each) != 0) continue;
    do {
      if (!is_whole_structure(&each)) continue;
      const char* name = dwarf_diename(&each);
      if (name != nullptr && std::find(names.begin(), names.end(), name) != names.end())
        found.emplace(name, each);
    } while (dwarf_siblingof(&each, &each) == 0);
  }
}

DebugTypes::~DebugTypes() {
  if (content_->dwarf != nullptr) dwarf_end(content_->dwarf);
  if (content_->file >= 0) close(content_->file);
}

bool DebugTypes::has(std::string_view structure) const {
  return content_->structures.find(structure) != content_->structures.end();
}

std::size_t DebugTypes::bytes(std::string_view structure) const {
  const auto found = content_->structures.find(structure);
  if (found == content_->structures.end()) return 0;
  return number(&found->second, DW_AT_byte_size).value_or(0);
}

std::optional<DebugField> DebugTypes::find(std::string_view structure,
                                           std::string_view field) const {
  const auto found = content_->structures.find(structure);
  if (found == content_->structures.end()) return std::nullopt;
  return find_in(&found->second, field);
}

}  // namespace softcuda

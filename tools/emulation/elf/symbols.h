// The symbol table (.symtab) of a library on disk: what the official libnccl names, also its LOCAL
// functions and data, which dlsym doesn't see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nnd::elf {

struct Symbol {
  std::string name;      // as the file has it, mangled
  std::uintptr_t value;  // address before relocation
  std::size_t bytes;
  bool is_function;
};

struct SymbolTable {
  std::vector<Symbol> symbols;
  std::string error;  // not empty: why there are none

  std::optional<std::uintptr_t> find(std::string_view name) const;  // its value
};

SymbolTable read_symbols(const std::string& path);

// Whether both files are of one build, stripped or not: they have the same GNU build ID.
bool same_build(const std::string& a, const std::string& b);

}  // namespace nnd::elf

// Local symbols of a loaded library, read from its file's .symtab: dlsym sees only exported ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nnd::driver {

// The symbol's value (an address relative to the load bias), or nothing where the file has no such
// function or object (stripped). Throws Error where the file cannot be read or is no 64-bit ELF
// file.
std::optional<std::uint64_t> find_local_symbol(const std::string& file, const std::string& name);

}  // namespace nnd::driver

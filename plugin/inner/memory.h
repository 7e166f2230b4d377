// Reading another library's memory, whatever lies there: not for the eyes of AddressSanitizer,
// which keeps the gaps between a library's variables for itself. The caller has checked that the
// range is mapped (Module::covers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nnd::inner {

std::uintptr_t word_at(std::uintptr_t address);  // aligned
bool same_bytes(std::uintptr_t address, const char* bytes, std::size_t size);

// Where text begins in [begin, end), or end.
std::uintptr_t find_text(std::uintptr_t begin, std::uintptr_t end, std::string_view text);

char byte_at(std::uintptr_t address);

}  // namespace nnd::inner

#include "inner/memory.h"

#define UNCHECKED __attribute__((no_sanitize("address"), noinline))

namespace nnd::inner {

// Volatile, so that the loops stay loops: memchr and memcmp would be checked again.
// NOLINTBEGIN(performance-no-int-to-ptr): addresses come from the loader's tables, as numbers
UNCHECKED std::uintptr_t word_at(std::uintptr_t address) {
  return *reinterpret_cast<const volatile std::uintptr_t*>(address);
}

UNCHECKED char byte_at(std::uintptr_t address) {
  return *reinterpret_cast<const volatile char*>(address);
}

UNCHECKED bool same_bytes(std::uintptr_t address, const char* bytes, std::size_t size) {
  const auto* memory = reinterpret_cast<const volatile char*>(address);
  for (std::size_t i = 0; i < size; ++i) {
    if (memory[i] != bytes[i]) return false;
  }
  return true;
}

UNCHECKED std::uintptr_t find_text(std::uintptr_t begin, std::uintptr_t end,
                                   std::string_view text) {
  if (text.empty() || end - begin < text.size()) return end;
  const char first = text.front();
  for (std::uintptr_t at = begin; at <= end - text.size(); ++at) {
    if (*reinterpret_cast<const volatile char*>(at) == first &&
        same_bytes(at, text.data(), text.size())) {
      return at;
    }
  }
  return end;
}
// NOLINTEND(performance-no-int-to-ptr)

}  // namespace nnd::inner

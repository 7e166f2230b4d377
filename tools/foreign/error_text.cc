#include "foreign/error_text.h"

#include <charconv>
#include <cstring>

namespace nnd::foreign {

std::optional<int> errno_in(std::string_view text) {
  constexpr int kLast = 133;  // EHWPOISON
  for (int number = 1; number <= kLast; ++number)
    if (const char* const name = strerrordesc_np(number); name != nullptr && text.starts_with(name))
      return number;
  constexpr std::string_view kUnknown = "Unknown error -";
  int number = 0;
  if (text.starts_with(kUnknown) &&
      std::from_chars(text.data() + kUnknown.size(), text.data() + text.size(), number).ec ==
          std::errc() &&
      number <= kLast)
    return number;
  return {};
}

}  // namespace nnd::foreign

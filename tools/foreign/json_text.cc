#include "foreign/json_text.h"

#include <charconv>
#include <limits>

namespace nnd::foreign {

std::string text_of(const simdjson::dom::object& object, std::string_view key) {
  std::string_view out;
  return object[key].get(out) == simdjson::SUCCESS ? std::string(out) : std::string();
}

std::int64_t number_of(const simdjson::dom::object& object, std::string_view key,
                       std::int64_t otherwise) {
  std::int64_t out = 0;
  return object[key].get(out) == simdjson::SUCCESS ? out : otherwise;
}

int int_of(const simdjson::dom::object& object, std::string_view key, int otherwise) {
  const auto out = number_of(object, key, otherwise);
  const bool fits =
      out >= std::numeric_limits<int>::min() && out <= std::numeric_limits<int>::max();
  return fits ? static_cast<int>(out) : otherwise;
}

std::int64_t number_in(std::string_view text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace nnd::foreign

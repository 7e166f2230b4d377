#include "foreign/json_text.h"

#include <charconv>

namespace nnd::foreign {

std::string text_of(const simdjson::dom::object& object, std::string_view key) {
  std::string_view out;
  return object[key].get(out) == simdjson::SUCCESS ? std::string(out) : std::string();
}

std::int64_t number_in(std::string_view text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace nnd::foreign

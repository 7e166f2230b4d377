// What readers of JSON look up in an object.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace nnd::foreign {

// Empty: it has no such text.
std::string text_of(const simdjson::dom::object& object, std::string_view key);

// otherwise: it has no such number, or one that is too large.
std::int64_t number_of(const simdjson::dom::object& object, std::string_view key,
                       std::int64_t otherwise);
int int_of(const simdjson::dom::object& object, std::string_view key, int otherwise);

// The number that a text begins with, which may have words behind it; 0: none.
std::int64_t number_in(std::string_view text);

}  // namespace nnd::foreign

#include "log/natural_order.h"

#include <algorithm>

namespace nnd::log {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number that a text begins with, without leading zeros; it is cut off.
std::string_view take_number(std::string_view& text) {
  const auto size =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  auto number = text.substr(0, size);
  text.remove_prefix(size);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const auto whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const auto one = take_number(a), other = take_number(b);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // "01" and "1"
}

}  // namespace nnd::log

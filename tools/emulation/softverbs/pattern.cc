#include "softverbs/pattern.h"

#include <charconv>
#include <cstdio>
#include <stdexcept>

namespace softverbs {

namespace {

[[noreturn]] void fail(std::string_view body, const char* why) {
  throw std::invalid_argument("{" + std::string(body) + "}: " + why);
}

// letter, then any of *N and +N, applied from left to right, then :x or :02x.
std::string value_of(std::string_view body, const Counters& counters) {
  if (body.empty()) fail(body, "a counter is missing between the braces");
  const auto counter = counters.find(body[0]);
  if (counter == counters.end()) fail(body, "no such counter here (h host, i device, p port)");
  int value = counter->second;
  std::string_view rest = body.substr(1);
  while (!rest.empty() && (rest[0] == '*' || rest[0] == '+')) {
    int number = 0;
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (error != std::errc{}) fail(body, "a number belongs after * and +");
    value = rest[0] == '*' ? value * number : value + number;
    rest = rest.substr(static_cast<std::size_t>(end - rest.data()));
  }
  char text[32];
  if (rest.empty())
    std::snprintf(text, sizeof text, "%d", value);
  else if (rest == ":x")
    std::snprintf(text, sizeof text, "%x", static_cast<unsigned>(value));
  else if (rest == ":02x")
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(value));
  else
    fail(body, "only *N, +N, :x and :02x may follow the counter");
  return text;
}

}  // namespace

std::string expand(std::string_view pattern, const Counters& counters) {
  std::string out;
  while (!pattern.empty()) {
    const auto open = pattern.find('{');
    out += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = pattern.find('}', open);
    if (close == std::string_view::npos) fail(pattern.substr(open + 1), "no closing brace");
    out += value_of(pattern.substr(open + 1, close - open - 1), counters);
    pattern = pattern.substr(close + 1);
  }
  return out;
}

}  // namespace softverbs

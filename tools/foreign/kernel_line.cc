#include "foreign/kernel_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "foreign/words.h"

namespace nnd::foreign {

namespace {

constexpr int kLastYear = 2200;  // nanoseconds fit into 64 bits

// Takes a number of this many digits off the front; a day may have a space before it.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  auto number = text.substr(0, digits);
  if (number.size() < digits) return {};
  if (number.starts_with(' ')) number.remove_prefix(1);
  int out = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out);
  if (error != std::errc() || end != number.data() + number.size()) return {};
  text.remove_prefix(digits);
  return out;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::string_view take_word(std::string_view& text) {
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  take(text, " ");
  return word;
}

// "Nov"
std::optional<int> take_month(std::string_view& text) {
  constexpr std::array<std::string_view, 12> kNames{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (take(text, kNames[i])) return static_cast<int>(i) + 1;
  return {};
}

bool take_weekday(std::string_view& text) {
  for (const auto* day : {"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "})
    if (take(text, day)) return true;
  return false;
}

// "08:30:00", in seconds, and a fraction behind it.
std::optional<int> take_clock(std::string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || !take(text, ":")) return {};
  const auto minute = take_number(text, 2);
  if (!minute || !take(text, ":")) return {};
  const auto second = take_number(text, 2);
  if (!second) return {};
  if (text.size() > 1 && (text[0] == '.' || text[0] == ',') && is_digit(text[1]))
    text.remove_prefix(std::min(text.find_first_not_of(kDigits, 1), text.size()));
  return *hour * 3600 + *minute * 60 + *second;
}

std::optional<std::int64_t> seconds_of(int year, int month, int day, int clock) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  return sys_seconds(sys_days(date)).time_since_epoch().count() + clock;
}

// "2026-11-24T08:30:00.123456+01:00", with a space, with no zone.
bool take_iso(std::string_view& text, KernelLine& out) {
  auto rest = text;
  const auto year = take_number(rest, 4);
  if (!year || *year > kLastYear || !take(rest, "-")) return false;
  const auto month = take_number(rest, 2);
  if (!month || !take(rest, "-")) return false;
  const auto day = take_number(rest, 2);
  if (!day || !(take(rest, "T") || take(rest, " "))) return false;
  const auto clock = take_clock(rest);
  const auto at = clock ? seconds_of(*year, *month, *day, *clock) : std::nullopt;
  if (!at) return false;
  out.at_sec = *at;
  if (take(rest, "Z") || take(rest, " UTC")) {
    out.utc = true;
  } else if (rest.starts_with('+') || rest.starts_with('-')) {
    const int sign = rest.front() == '+' ? 1 : -1;
    rest.remove_prefix(1);
    const auto hours = take_number(rest, 2);
    take(rest, ":");
    const auto minutes = hours ? take_number(rest, 2) : std::nullopt;
    if (!minutes) return false;
    out.at_sec -= sign * (*hours * 3600 + *minutes * 60);
    out.utc = true;
  }
  if (!rest.empty() && !take(rest, " ")) return false;
  text = rest;
  return true;
}

// "Nov 24 08:30:00"
bool take_short(std::string_view& text, KernelLine& out) {
  constexpr int kLeapYear = 2000;
  auto rest = text;
  const auto month = take_month(rest);
  if (!month || !take(rest, " ")) return false;
  const auto day = take_number(rest, 2);
  if (!day || !take(rest, " ")) return false;
  const auto clock = take_clock(rest);
  const auto at = clock ? seconds_of(kLeapYear, *month, *day, *clock) : std::nullopt;
  if (!at || !take(rest, " ")) return false;
  out.at_sec = *at;
  out.no_year = true;
  text = rest;
  return true;
}

// dmesg -T's "Tue Nov 24 08:30:00 2026".
bool read_long(std::string_view text, KernelLine& out) {
  if (!take_weekday(text) || !take_short(text, out)) return false;
  const auto year = take_number(text, 4);
  if (!year || *year > kLastYear) return false;
  using namespace std::chrono;
  const auto days = floor<std::chrono::days>(sys_seconds(seconds(out.at_sec)));
  const year_month_day date(days);
  const auto clock = out.at_sec - sys_seconds(days).time_since_epoch().count();
  const auto at =
      seconds_of(*year, static_cast<int>(static_cast<unsigned>(date.month())),
                 static_cast<int>(static_cast<unsigned>(date.day())), static_cast<int>(clock));
  if (!at) return false;
  out.at_sec = *at;
  out.no_year = false;
  return true;
}

// "  12345.678901": no host runs for that long, and no clock shows later ones.
constexpr double kLongestUp = 1e9, kLatest = 8e9;

std::optional<double> seconds_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  double out = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), out, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(out >= 0 && out <= kLatest) ||
      text.find('.') == std::string_view::npos)
    return {};
  return out;
}

// "[12345.678901] ", or with a time; and which task printed it ("[    T1] "), where kernels say so.
bool take_brackets(std::string_view& text, KernelLine& out) {
  const auto end = text.find(']');
  if (!text.starts_with('[') || end == std::string_view::npos) return false;
  const auto inside = text.substr(1, end - 1);
  if (const auto up = seconds_in(inside); up && *up <= kLongestUp)
    out.up_sec = *up;
  else if (!read_long(inside, out))
    return false;
  text.remove_prefix(end + 1);
  if (text.starts_with('[') && text.find(']') != std::string_view::npos)
    text.remove_prefix(text.find(']') + 1);
  take(text, " ");
  return true;
}

// "host kernel: "
bool take_tag(std::string_view& text, KernelLine& out) {
  auto rest = text;
  const auto host = take_word(rest);
  if (host.empty() || !take(rest, "kernel: ")) return false;
  out.host = host;
  out.by_the_kernel = true;
  text = rest;
  return true;
}

// What stands before the time: "<4>", dmesg -x's "kern  :err   : ".
void skip_level(std::string_view& text) {
  if (text.starts_with('<')) {
    const auto end = text.find('>');
    if (end != std::string_view::npos && end > 1 &&
        text.substr(1, end - 1).find_first_not_of(kDigits) == std::string_view::npos)
      text.remove_prefix(end + 1);
  } else if (text.starts_with("kern ")) {
    const auto first = text.find(':');
    const auto second = text.find(": ", first == std::string_view::npos ? first : first + 1);
    if (second != std::string_view::npos) text.remove_prefix(second + 2);
  }
}

}  // namespace

std::optional<KernelLine> kernel_line(std::string_view line) {
  KernelLine out;
  if (line.ends_with('\r')) line.remove_suffix(1);
  skip_level(line);
  if (take_brackets(line, out)) {
    take_tag(line, out);
  } else {
    auto rest = line;
    if (take_weekday(rest)) line = rest;  // journalctl -o short-full
    const bool iso = take_iso(line, out);
    if (!iso && !take_short(line, out)) {
      const auto unix_time = seconds_in(take_word(line));  // journalctl -o short-unix
      if (!unix_time) return {};
      out.at_sec = static_cast<std::int64_t>(*unix_time);
      out.utc = true;
    }
    // dmesg --time-format iso has neither host nor tag, but always a zone.
    if (!take_tag(line, out) && !(iso && out.utc)) return {};
    if (out.by_the_kernel) {
      KernelLine up;
      auto text = line;
      if (take_brackets(text, up) && up.up_sec != 0) {
        out.up_sec = up.up_sec;
        line = text;
      }
    }
  }
  out.text = line;
  return out;
}

}  // namespace nnd::foreign

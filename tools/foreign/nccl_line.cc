#include "foreign/nccl_line.h"

#include <cctype>
#include <charconv>
#include <chrono>
#include <optional>
#include <vector>

#include "foreign/output_prefix.h"
#include "foreign/words.h"

namespace nnd::foreign {

namespace {

constexpr std::string_view kInfo = "NCCL INFO ", kWarn = "NCCL WARN ";

bool is_of_host(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

// Takes ":123" off the end of a text.
std::optional<std::int64_t> take_number(std::string_view& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return {};
  std::int64_t out = 0;
  const auto [end, error] =
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  text = text.substr(0, colon);
  return out;
}

std::string_view host_at_end(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_of_host(text[begin - 1])) --begin;
  return text.substr(begin);
}

struct Header {
  Writer writer;
  std::size_t begin = 0;  // where it begins
};

// "host:pid:tid [dev] " at the end of what stands before NCCL's word, perhaps with "file.cc:12" and
// "(function)" behind; releases before 2.10 and programs that print by themselves leave out the
// tid.
std::optional<Header> header_of(std::string_view before) {
  std::size_t end = before.size();
  constexpr int kMostWords = 6;
  for (int i = 0; i < kMostWords && end > 0; ++i) {
    const auto last = before.find_last_not_of(' ', end - 1);
    if (last == std::string_view::npos) break;
    const auto space = before.find_last_of(' ', last);
    const auto begin = space == std::string_view::npos ? 0 : space + 1;
    auto word = before.substr(begin, last + 1 - begin);
    const auto second = take_number(word);
    const auto first = second ? take_number(word) : std::nullopt;
    const bool followed = before.substr(last + 1).starts_with(" [");
    const auto host = host_at_end(word);
    if ((first || (second && followed)) && !host.empty()) {
      Header out;
      out.writer.host = host;
      out.writer.pid = first.value_or(*second);
      out.begin = static_cast<std::size_t>(host.data() - before.data());
      return out;
    }
    end = begin;
  }
  return {};
}

std::optional<int> number_at(std::string_view text, std::size_t digits) {
  int out = 0;
  if (text.size() < digits) return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, out);
  return error == std::errc() && end == text.data() + digits ? std::optional(out) : std::nullopt;
}

// The last word, if it is a line of a source file.
std::string_view place_in(std::string_view before) {
  before = before.substr(0, before.find_last_not_of(' ') + 1);
  const auto word = before.substr(before.rfind(' ') + 1);
  return word.find(".cc:") == std::string_view::npos && word.find(".h:") == std::string_view::npos
             ? std::string_view()
             : word;
}

}  // namespace

std::int64_t time_in(std::string_view text) {
  constexpr std::size_t kLength = 19;
  for (std::size_t at = 0; at + kLength <= text.size(); ++at) {
    const auto here = text.substr(at, kLength);
    if (here[4] != '-' || here[7] != '-' || here[13] != ':' || here[16] != ':') continue;
    const auto year = number_at(here, 4), month = number_at(here.substr(5), 2),
               day = number_at(here.substr(8), 2), hour = number_at(here.substr(11), 2),
               minute = number_at(here.substr(14), 2), second = number_at(here.substr(17), 2);
    if (!year || !month || !day || !hour || !minute || !second) continue;
    using namespace std::chrono;
    const year_month_day date{std::chrono::year(*year),
                              std::chrono::month(static_cast<unsigned>(*month)),
                              std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) continue;
    return sys_seconds(sys_days(date)).time_since_epoch().count() + *hour * 3600 + *minute * 60 +
           *second;
  }
  return 0;
}

std::size_t next_word(std::string_view line, std::size_t from) {
  for (auto at = line.find("NCCL ", from); at != std::string_view::npos;
       at = line.find("NCCL ", at + 1))
    if (line.substr(at).starts_with(kInfo) || line.substr(at).starts_with(kWarn)) return at;
  return std::string_view::npos;
}

void for_each_nccl_line(std::string_view line, const std::function<void(const NcclLine&)>& sink) {
  std::size_t from = 0;
  for (auto word = next_word(line, 0); word != std::string_view::npos;) {
    const auto before = line.substr(from, word - from);
    NcclLine out;
    const auto header = header_of(before);
    if (header) out.writer = header->writer;
    out.writer.rank = marked_rank(before);
    out.at_sec = time_in(before);
    out.place = place_in(before);
    out.level =
        line.substr(word).starts_with(kWarn) ? NcclLine::Level::kWarn : NcclLine::Level::kInfo;
    const auto text = word + kInfo.size();
    const auto next = next_word(line, text);
    auto end = line.size();
    if (next != std::string_view::npos) {
      const auto other = header_of(line.substr(text, next - text));
      end = other ? text + other->begin : next;
      out.cut = true;
    }
    out.text = line.substr(text, end - text);
    sink(out);
    from = end;
    word = next;
  }
}

std::string without_colours(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] != '\x1b') {
      out += line[at++];
      continue;
    }
    ++at;  // "ESC [ 31 ; 1 m"
    if (at < line.size() && line[at] == '[') ++at;
    while (at < line.size() && (is_digit(line[at]) || line[at] == ';')) ++at;
    if (at < line.size()) ++at;
  }
  return out;
}

}  // namespace nnd::foreign

#include "foreign/nccl_said.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foreign/error_text.h"

namespace nnd::foreign {

namespace {

std::optional<int> whole_number(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() ? std::optional(out) : std::nullopt;
}

// What stands behind a word, up to a space or a comma: "localGid fe80::1".
std::string after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return {};
  const auto begin = at + word.size();
  const auto end = std::min(text.find_first_of(" ,\n", begin), text.size());
  return std::string(text.substr(begin, end - begin));
}

struct Known {
  const Saying* saying;
  std::string_view words;  // that it begins with
};

// Those that a text may be, by its first byte, in their order.
const std::vector<Known>& known_by(std::string_view text) {
  using Table = std::array<std::vector<Known>, 256>;
  static const Table table = [] {
    Table out;
    for (const auto& saying : nccl_sayings()) {
      const auto words = saying.format.substr(0, saying.format.find('%'));
      for (std::size_t byte = 0; byte < out.size(); ++byte)
        if (words.empty() || static_cast<unsigned char>(words[0]) == byte)
          out[byte].push_back({&saying, words});
    }
    return out;
  }();
  return table[text.empty() ? 0 : static_cast<unsigned char>(text[0])];
}

}  // namespace

Said find_saying(std::string_view text, bool cut) {
  constexpr std::size_t kEnough = 20;
  Said part;
  for (const auto& [saying, words] : known_by(text)) {
    if (!text.starts_with(words)) continue;
    auto printed = read_printed(saying->format, text, cut);
    if (printed.whole) return {saying, std::move(printed)};
    if (printed.begins && words.size() >= kEnough && part.saying == nullptr)
      part = {saying, std::move(printed)};
  }
  return part;
}

bool is_bare_saying(std::string_view line) {
  // To be nothing else: so many words, or these and all that comes after them.
  constexpr std::size_t kEnough = 16, kBegin = 8;
  const auto& known = known_by(line);
  return std::any_of(known.begin(), known.end(), [&](const Known& one) {
    return one.words.size() >= kBegin && line.starts_with(one.words) &&
           (one.words.size() >= kEnough ||
            // "Connect to ... failed" is many a program's.
            (one.saying->says > Says::kNetwork && one.saying->says != Says::kConnect &&
             read_printed(one.saying->format, line).whole));
  });
}

void fill(Fact& fact, const Said& said, std::string_view text) {
  std::string port;
  for (std::size_t i = 0; i < said.printed.values.size(); ++i) {
    const auto value = said.printed.values[i];
    switch (said.saying->values[i]) {
      case 'r':
        fact.rank = whole_number(value);
        break;
      case 'n':
        fact.nranks = whole_number(value);
        break;
      case 'd':
        fact.dev = value;
        break;
      case 'p':
        port = value;
        break;
      case 's':
        fact.status = whole_number(value);
        break;
      case 'e':
        fact.error = whole_number(value);
        break;
      case 't':
        if (!fact.error) fact.error = errno_in(value);
        break;
      case 'a':
        fact.peer = value;
        break;
      case 'm':
        fact.dev = after(value, "on dev ");
        fact.local = after(value, "local GID ");
        if (fact.local == "index") {  // "local GID index 3, local GID fe80::1"
          const auto second = value.find("local GID ", value.find("local GID ") + 1);
          fact.local = second == std::string_view::npos ? std::string()
                                                        : after(value.substr(second), "local GID ");
        }
        fact.remote = after(value, "remote GID ");
        break;
      case 'x':
        fact.text += value;
        break;
      default:
        break;
    }
  }
  if (!port.empty()) fact.dev += ":" + port;
  if (said.saying->says == Says::kCompletion) {
    fact.local = after(text, "localGid ");
    fact.remote = after(text, "remoteGids");  // releases differ in what separates them
    if (fact.remote.starts_with(":::") ||
        (fact.remote.starts_with(':') && !fact.remote.starts_with("::")))
      fact.remote.erase(0, 1);
    if (fact.remote.empty()) fact.remote = after(text, "remoteGids ");
  }
  fact.text = fact.text.empty() || said.saying->says > Says::kNetwork ? text : fact.text;
}

}  // namespace nnd::foreign

#include "foreign/output_prefix.h"

#include <algorithm>
#include <charconv>

namespace nnd::foreign {

namespace {

std::optional<int> number_between(std::string_view text, std::string_view before,
                                  std::string_view behind) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  int out = 0;
  const char* const begin = text.data() + at + before.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), out);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return error == std::errc() && out >= 0 && rest.starts_with(behind) ? std::optional(out)
                                                                      : std::nullopt;
}

// srun's " 3: ", and nothing else.
std::optional<int> label_of(std::string_view prefix) {
  const auto begin = std::min(prefix.find_first_not_of(' '), prefix.size());
  const auto colon = prefix.find(':', begin);
  if (colon == std::string_view::npos || prefix.substr(colon) != ": ") return {};
  return number_between(prefix.substr(begin), "", ":");
}

}  // namespace

std::optional<int> marked_rank(std::string_view prefix) {
  const auto rank = number_between(prefix, "[rank", "]");
  return rank ? rank : number_between(prefix, "[1,", "]");
}

OutputPrefix read_prefix(std::string_view prefix) {
  OutputPrefix out;
  out.rank = marked_rank(prefix);
  if (!out.rank) {
    out.rank = number_between(prefix, "[default", "]");
    out.on_node = out.rank.has_value();
  }
  if (!out.rank) out.rank = label_of(prefix);
  if (out.rank) out.whose = std::to_string(*out.rank);
  return out;
}

}  // namespace nnd::foreign

#include "foreign/output_prefix.h"

#include <algorithm>
#include <array>
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

OutputPrefix read_prefix(std::string_view prefix) {
  struct Form {
    const char *before, *behind;
    bool on_node;
  };
  constexpr std::array<Form, 3> kForms{
      {{"[rank", "]", false}, {"[1,", "]", false}, {"[default", "]", true}}};
  OutputPrefix out;
  for (const auto& form : kForms)
    if ((out.rank = number_between(prefix, form.before, form.behind))) {
      out.on_node = form.on_node;
      break;
    }
  if (!out.rank) out.rank = label_of(prefix);
  if (out.rank) out.whose = std::to_string(*out.rank);
  return out;
}

}  // namespace nnd::foreign

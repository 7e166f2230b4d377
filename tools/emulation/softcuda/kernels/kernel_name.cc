#include "kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace softcuda {
namespace {

std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return text ? text.get() : name;
}

bool opens(char c) { return c == '<' || c == '(' || c == '{' || c == '['; }
bool closes(char c) { return c == '>' || c == ')' || c == '}' || c == ']'; }

// Where the bracket at `at` ends.
std::size_t end_of(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += opens(text[at]) ? 1 : closes(text[at]) ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

void erase_all(std::string& text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
}

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    depth += opens(c) ? 1 : closes(c) ? -1 : 0;
    if (c != ',' || depth != 0) continue;
    if (const auto part = trimmed(text.substr(begin, at - begin)); !part.empty())
      parts.emplace_back(part);
    begin = at + 1;
  }
  return parts;
}

TemplateName parse_template(std::string_view text) {
  const auto open = text.find('<');
  std::string_view name = text.substr(0, std::min(open, text.find('(')));
  if (const auto space = name.rfind(' '); space != std::string_view::npos)
    name.remove_prefix(space + 1);
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  TemplateName out{std::string(name), {}};
  if (open != std::string_view::npos && open < text.find('('))
    out.arguments = split_list(text.substr(open + 1, end_of(text, open) - open - 1));
  return out;
}

TemplateName parse_kernel_name(const char* name) {
  std::string text = readable(name);
  erase_all(text, "(anonymous namespace)::");
  return parse_template(text);
}

}  // namespace softcuda

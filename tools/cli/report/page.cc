#include "cli/report/page.h"

#include <fmt/format.h>

#include "cli/common/html_head.h"
#include "cli/common/html_text.h"
#include "cli/common/printable.h"
#include "cli/common/version.h"
#include "cli/report/page_look.h"

namespace nnd::cli {

namespace {

// JSON that can't end the element that it is in.
std::string embedded(const nlohmann::json& data) {
  const auto text = data.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string out;
  for (const char c : text)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

}  // namespace

std::string page_head() { return html_head("report", kPageStyle, kPageScript); }

std::string page_end() { return fmt::format("<script>{}</script>\n</body></html>\n", kPageScript); }

std::string page_verdict(const char* look, const Words& words, const std::string& about,
                         const PageOrigin& origin) {
  std::string out = fmt::format(
      "<h1 class=\"{}\">{}</h1>\n<p class=\"about\">{}<br>{}, nccl-net-diag {}: "
      "<code>{}</code></p>\n<dl class=\"parts\">\n",
      look, html_text(words.verdict), html_text(about), html_text(origin.when), tool_version(),
      html_text(origin.command));
  for (const auto& part : words.parts) {
    out += "<dt>" + html_text(part.title) + "</dt><dd>";
    for (std::size_t i = 0; i < part.lines.size(); ++i)
      out += (i == 0 ? "" : "<br>") + html_text(part.lines[i]);
    out += "</dd>\n";
  }
  return out + "</dl>\n";
}

std::string data_table(const std::string& id, const std::vector<std::string>& headings,
                       const std::vector<PageRow>& rows) {
  auto data = nlohmann::json::array();
  for (const auto& row : rows) {
    auto cells = nlohmann::json::array();
    for (const auto& cell : row) cells.push_back(printable(cell));
    data.push_back(std::move(cells));
  }
  std::string heads;
  for (const auto& heading : headings)
    heads += "<th><button>" + html_text(heading) + "</button></th>";
  return fmt::format(
      "<div class=\"data\" id=\"{}\"><input placeholder=\"filter\" aria-label=\"filter\">"
      "<span class=\"count\"></span>\n<div class=\"wide\"><table><thead><tr>{}</tr></thead>"
      "<tbody></tbody></table></div><button class=\"more\" hidden>more</button>\n"
      "<script type=\"application/json\">{}</script></div>\n",
      id, heads, embedded(data));
}

}  // namespace nnd::cli

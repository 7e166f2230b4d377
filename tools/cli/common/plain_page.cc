#include "cli/common/plain_page.h"

#include <fmt/format.h>

#include "cli/common/html_head.h"
#include "cli/common/html_text.h"
#include "cli/common/version.h"

namespace nnd::cli {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --line: #8884; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.verdict { font-size: 1.1rem; padding: .6rem .9rem; border-left: .4rem solid #1a7f37; background: #1a7f3718; }
.verdict.broken { border-color: #cf222e; background: #cf222e18; }
.about { color: GrayText; } .bad { color: #cf222e; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .2rem .45rem; text-align: left; vertical-align: top; }
pre { padding: .75rem; border: 1px solid var(--line); overflow-x: auto; }
@media print { body { font-size: 9px; margin: 0; max-width: none; } .wide, pre { overflow: visible; } tr { break-inside: avoid; } }
)";

}  // namespace

std::string begin_page(const PlainPage& page) {
  const std::string style = fmt::format("{}{}", kStyle, page.style);
  return html_head(page.command, style, {}) +
         fmt::format("<h1>nccl-net-diag {}</h1>\n<p class=\"verdict{}\">{}</p>\n", page.command,
                     page.fine ? "" : " broken", html_text(page.verdict));
}

std::string page_about(const PageOrigin& origin, const std::string& more) {
  return fmt::format("<p class=\"about\">{}<br><code>{}</code><br>nccl-net-diag {}{}</p>\n",
                     html_text(origin.when), html_text(origin.command), tool_version(),
                     more.empty() ? "" : "; " + html_text(more));
}

std::string bad_line(const std::string& text) {
  return "<p class=\"bad\">" + html_text(text) + "</p>\n";
}

std::string end_page() { return "</body></html>\n"; }

}  // namespace nnd::cli

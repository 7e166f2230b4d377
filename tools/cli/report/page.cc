#include "cli/report/page.h"

#include <fmt/format.h>

#include <string_view>

#include "cli/common/html_text.h"
#include "cli/common/printable.h"

namespace nnd::cli {

namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>nccl-net-diag report</title>
<style>
:root { color-scheme: light dark; --line: #8884; --bad: #cf222e; --warn: #bf8700; --good: #1a7f37; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1 { font-size: 1.35rem; border-left: .4rem solid var(--good); padding-left: .75rem; }
h1.bad { border-color: var(--bad); } h1.warn { border-color: var(--warn); }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.parts { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; }
.parts dt { font-weight: 600; } .parts dd { margin: 0; }
.wide { overflow: auto; max-height: 40rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .2rem .5rem; text-align: left; vertical-align: top; }
thead th { position: sticky; top: 0; background: Canvas; }
th button { all: unset; cursor: pointer; font-weight: 700; } th button:focus-visible { outline: 2px solid; }
th[aria-sort=ascending] button::after { content: " \2191"; } th[aria-sort=descending] button::after { content: " \2193"; }
.map td { text-align: center; min-width: 2.5rem; }
.ok { background: #1a7f3733; } .seen { background: #8882; } .warned { background: #bf870066; }
.failed { background: #cf222e44; } .guilty { background: #cf222e; color: #fff; font-weight: 700; }
.key span { padding: .1rem .5rem; margin-right: .5rem; }
input, .more { font: inherit; padding: .2rem .5rem; margin: .25rem .5rem .25rem 0; }
svg { border: 1px solid var(--line); } svg text { fill: currentColor; font: 12px system-ui, sans-serif; }
.graph rect { fill: Canvas; stroke: currentColor; } .graph .sink { stroke: var(--bad); stroke-width: 2; }
.graph path { fill: none; stroke: currentColor; opacity: .45; } .axis { display: flex; justify-content: space-between; }
</style></head><body>
)";

constexpr std::string_view kScript = R"(<script>
"use strict";
const collator = new Intl.Collator("en", {numeric: true});
for (const box of document.querySelectorAll(".data")) {
  const rows = JSON.parse(box.querySelector("script").textContent), body = box.querySelector("tbody");
  const input = box.querySelector("input"), count = box.querySelector(".count"), more = box.querySelector(".more");
  let by = -1, down = false, shown = 200;
  const draw = () => {
    const text = input.value.toLowerCase();
    const fit = rows.filter(row => row.join("\n").toLowerCase().includes(text));
    if (by >= 0) fit.sort((a, b) => (down ? -1 : 1) * collator.compare(a[by], b[by]));
    body.replaceChildren(...fit.slice(0, shown).map(row => {
      const line = document.createElement("tr");
      line.append(...row.map(cell => Object.assign(document.createElement("td"), {textContent: cell})));
      return line;
    }));
    count.textContent = Math.min(shown, fit.length) + " of " + fit.length + (fit.length < rows.length ? " that fit, of " + rows.length : "");
    more.hidden = fit.length <= shown;
  };
  box.querySelectorAll("th").forEach((head, at, all) => head.firstChild.addEventListener("click", () => {
    down = by === at && !down;
    by = at;
    for (const one of all) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    draw();
  }));
  input.addEventListener("input", draw);
  more.addEventListener("click", () => { shown += 1000; draw(); });
  draw();
}
const line = document.getElementById("line");
if (line) {
  const axis = document.getElementById("axis"), begin = +line.dataset.begin, length = +line.dataset.length;
  const view = line.viewBox.baseVal;
  const show = (x, width) => {
    view.width = Math.min(1000, Math.max(0.01, width));
    view.x = Math.min(1000 - view.width, Math.max(0, x));
    const digits = length * view.width / 1000 < 10000 ? 23 : 19;
    axis.replaceChildren(...[0, 1, 2, 3, 4].map(i => Object.assign(document.createElement("span"), {
      textContent: new Date(begin + length * (view.x + view.width * i / 4) / 1000).toISOString().slice(11, digits)})));
  };
  line.addEventListener("wheel", event => {
    event.preventDefault();
    const at = event.offsetX / line.clientWidth, x = view.x + view.width * at;
    const width = Math.min(1000, view.width * (event.deltaY > 0 ? 1.25 : 0.8));
    show(x - width * at, width);
  }, {passive: false});
  line.addEventListener("pointermove", event => {
    if (event.buttons === 1) show(view.x - view.width * event.movementX / line.clientWidth, view.width);
  });
  line.addEventListener("dblclick", () => show(0, 1000));
  show(0, 1000);
}
</script>
)";

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

std::string page_head() { return std::string(kHead); }

std::string page_end() { return std::string(kScript) + "</body></html>\n"; }

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

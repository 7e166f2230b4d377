// How the page of a report looks, and what it does in a browser. Nothing in it comes from a log.
#pragma once

#include <string_view>

namespace nnd::cli {

inline constexpr std::string_view kPageStyle = R"(
:root { color-scheme: light dark; --line: #8884; --bad: #cf222e; --warn: #bf8700; --good: #1a7f37; --edge: #57606a;
  --connected: #1a7f3733; --failing: #cf222e44; }
@media (prefers-color-scheme: dark) { :root { --bad: #f85149; --warn: #d29922; --good: #3fb950; --edge: #9aa4af; --connected: #3fb95044; --failing: #f8514977; } }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.35rem; border-left: .4rem solid var(--good); padding-left: .75rem; }
h1.bad { border-color: var(--bad); } h1.warn { border-color: var(--warn); }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.about { color: GrayText; } .about code { color: CanvasText; overflow-wrap: anywhere; }
.parts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .35rem 1.25rem; }
.parts dt { font-weight: 600; } .parts dd { margin: 0; }
.wide { overflow: auto; max-height: 40rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .2rem .5rem; text-align: left; vertical-align: top; white-space: nowrap; }
thead th { position: sticky; top: 0; background: Canvas; }
th button { all: unset; cursor: pointer; font-weight: 700; } th button:focus-visible { outline: 2px solid; }
th[aria-sort=ascending] button::after { content: " \2191"; } th[aria-sort=descending] button::after { content: " \2193"; }
td.long { white-space: normal; min-width: 15rem; max-width: 34rem; cursor: pointer; }
td.long div { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; overflow-wrap: anywhere; }
td.open div { display: block; }
.map td { text-align: center; min-width: 2.5rem; } .map tbody th { position: sticky; left: 0; background: Canvas; }
.ok { background: var(--connected); } .seen { background: #8882; } .warned { background: #bf870066; }
.failed { background: var(--failing); } .guilty { background: #cf222e; color: #fff; font-weight: 700; }
.key { display: flex; flex-wrap: wrap; gap: .5rem; } .key span { padding: .1rem .5rem; }
input, .more, .zoom button { font: inherit; padding: .2rem .6rem; margin: .25rem .5rem .25rem 0; }
svg text { fill: currentColor; font: 12px system-ui, sans-serif; }
.graph rect { fill: Canvas; stroke: currentColor; } .graph .sink { stroke: var(--bad); stroke-width: 2; }
.graph .edge { fill: none; stroke: var(--edge); stroke-width: 1.5; } .graph .tip { fill: var(--edge); stroke: none; }
.lanes { display: grid; grid-template-columns: max-content minmax(0, 1fr); column-gap: .5rem; }
.names div { height: 18px; line-height: 18px; max-width: 14rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chart { position: relative; } .chart svg { display: block; width: 100%; outline: 1px solid var(--line); touch-action: pan-y; }
.chart rect { stroke-width: 3px; vector-effect: non-scaling-stroke; }
.wait { fill: var(--warn); fill-opacity: .3; stroke: none; } .warning { fill: var(--warn); stroke: var(--warn); }
.failure { fill: var(--bad); stroke: var(--bad); } .gone { fill: #8250df; stroke: #8250df; }
.labels span { position: absolute; height: 18px; font: 11px/18px system-ui, sans-serif; padding-left: .3rem; white-space: nowrap; pointer-events: none; }
.axis { display: flex; justify-content: space-between; color: GrayText; } #mark { min-height: 1.5em; }
@media (max-width: 640px) {
  body { margin: .75rem auto; padding: 0 .6rem; } h1 { font-size: 1.1rem; }
  .parts { grid-template-columns: minmax(0, 1fr); gap: 0; } .parts dd { margin-bottom: .5rem; }
  .map th, .map td { padding: .1rem .2rem; min-width: 1.2rem; } .map thead th { writing-mode: vertical-rl; font-size: 11px; }
  .names div { max-width: 5.5rem; } .axis span:nth-child(even) { display: none; }
}
)";

inline constexpr std::string_view kPageScript = R"(
"use strict";
const collator = new Intl.Collator("en", {numeric: true});
const made = (tag, text, kind) => Object.assign(document.createElement(tag), {textContent: text, className: kind || ""});
const cell = text => {
  if (text.length <= 40) return made("td", text);
  const out = made("td", "", "long");
  out.append(made("div", text));
  return out;
};
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
      line.append(...row.map(cell));
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
  body.addEventListener("click", event => {
    const long = event.target.closest(".long");
    if (long && getSelection().isCollapsed) long.classList.toggle("open");
  });
  input.addEventListener("input", draw);
  more.addEventListener("click", () => { shown += 1000; draw(); });
  draw();
}
const line = document.getElementById("line");
if (line) {
  const axis = document.getElementById("axis"), begin = +line.dataset.begin, length = +line.dataset.length;
  const view = line.viewBox.baseVal, labels = document.querySelectorAll(".labels span");
  for (const label of labels) label.style.top = label.dataset.y + "px";
  const show = (x, width) => {
    view.width = Math.min(1000, Math.max(0.01, width));
    view.x = Math.min(1000 - view.width, Math.max(0, x));
    const digits = length * view.width / 1000 < 10000 ? 23 : 19;
    axis.replaceChildren(...[0, 1, 2, 3, 4].map(i =>
      made("span", new Date(begin + length * (view.x + view.width * i / 4) / 1000).toISOString().slice(11, digits))));
    for (const label of labels) {
      const at = (label.dataset.x - view.x) / view.width;
      label.hidden = at < 0 || at > 1;
      const right = at > 0.6;
      label.style.left = right ? "auto" : 100 * at + "%";
      label.style.right = right ? 100 * (1 - at) + "%" : "auto";
      label.style.paddingRight = right ? ".3rem" : "0";
    }
  };
  const zoom = (by, at) => {
    const x = view.x + view.width * at, width = Math.min(1000, view.width * by);
    show(x - width * at, width);
  };
  line.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / line.clientWidth);
  }, {passive: false});
  line.addEventListener("pointermove", event => {
    if (event.buttons === 1) show(view.x - view.width * event.movementX / line.clientWidth, view.width);
  });
  line.addEventListener("dblclick", () => show(0, 1000));
  line.addEventListener("click", event => {
    const title = event.target.querySelector("title");
    if (title) document.getElementById("mark").textContent = title.textContent;
  });
  const buttons = document.querySelectorAll(".zoom button");
  buttons[0].addEventListener("click", () => zoom(0.5, 0.5));
  buttons[1].addEventListener("click", () => zoom(2, 0.5));
  buttons[2].addEventListener("click", () => show(0, 1000));
  show(0, 1000);
}
)";

}  // namespace nnd::cli

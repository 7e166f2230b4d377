"""A dashboard as a page, from its JSON and Prometheus' answers: Grafana is not needed, and this is not Grafana's drawing. Its grid, titles,
queries, units and legends are the dashboard's own."""
import html
import math
import re
import time

COLUMNS, ROW_PX, COLUMN_PX, GAP_PX = 24, 34, 49, 6
COLOURS = ("#3b6fb6", "#d9822b", "#3f9c5a", "#b54a7a", "#7f6bb8", "#8a6d3b", "#2aa0a4", "#c0392b", "#6b7a8f", "#a3a832")
STYLE = f"""
body {{ margin: 0; padding: 10px; background: #eef0f3; font: 12px sans-serif; color: #1d2433; }}
h1 {{ font-size: 17px; margin: 2px 4px 10px; }} h1 small {{ font-weight: normal; color: #5b6576; margin-left: 10px; }}
main {{ display: grid; grid-template-columns: repeat({COLUMNS}, 1fr); grid-auto-rows: {ROW_PX}px; gap: {GAP_PX}px; }}
section {{ background: #fff; border: 1px solid #d5d9e0; border-radius: 3px; overflow: hidden; display: flex; flex-direction: column; }}
h2 {{ font-size: 12px; margin: 6px 8px 2px; }} svg {{ flex: 1; min-height: 0; }} svg text {{ font: 10px sans-serif; fill: #5b6576; }}
.big {{ flex: 1; display: flex; align-items: center; justify-content: center; gap: 18px; font-size: 30px; }}
.big small {{ display: block; font-size: 11px; color: #5b6576; text-align: center; }}
.legend {{ padding: 0 8px 5px; max-height: 31px; overflow: hidden; color: #3a4353; }} .legend span {{ margin-right: 10px; white-space: nowrap; }}
.legend i {{ display: inline-block; width: 10px; height: 3px; margin-right: 4px; vertical-align: middle; }}
table {{ border-collapse: collapse; margin: 4px 8px; }} td, th {{ text-align: left; padding: 2px 10px 2px 0; }}
"""


def steps_of(value, steps):
    """The number with the largest unit that it has one of."""
    size, name = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    return f"{value / size:.3g} {name}".strip()


def text_of(value, unit):
    if not math.isfinite(value):
        return "–"
    if unit == "Bps":
        return steps_of(value, ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")))
    if unit == "s":
        return steps_of(value, ((60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))) if value else "0 s"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    return f"{value:.3g}" + {"cps": "/s"}.get(unit, "")


def ticks_of(highest):
    """Some round numbers up to that."""
    step = 10 ** math.floor(math.log10(highest / 3))
    step *= next(one for one in (1, 2, 5, 10) if highest / (step * one) <= 5)
    return [step * i for i in range(int(highest / step) + 1)]


def legend_of(target, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name.group(1), ""), target.get("legendFormat") or str(labels))


def lines_of(panel, ask):
    """[(legend, [(time, value)])]"""
    found = []
    for target in panel["targets"]:
        for labels, points in ask(target["expr"]):
            points = [(at, value) for at, value in points if math.isfinite(value)]
            if points:
                found.append((legend_of(target, labels), points))
    return sorted(found)


def chart(panel, lines, span):
    place, unit = panel["gridPos"], panel["fieldConfig"]["defaults"]["unit"]
    width, height = place["w"] * COLUMN_PX, place["h"] * ROW_PX - 66
    left, right, top, bottom = 62, 10, 6, 18
    begin, end, step = span
    highest = max((value for _, points in lines for _, value in points), default=0) * 1.05 or 1

    def x_of(at):
        return left + (at - begin) / (end - begin) * (width - left - right)

    def y_of(value):
        return height - bottom - value / highest * (height - top - bottom)

    out = []
    for value in ticks_of(highest):
        out.append(f'<path d="M{left} {y_of(value):.1f}H{width - right}" stroke="#e3e6eb"/>'
                   f'<text x="{left - 5}" y="{y_of(value) + 3:.1f}" text-anchor="end">{html.escape(text_of(value, unit))}</text>')
    for i in range(5):
        at = begin + (end - begin) * (i + 0.5) / 5
        out.append(f'<text x="{x_of(at):.1f}" y="{height - 5}" text-anchor="middle">{time.strftime("%H:%M:%S", time.gmtime(at))}</text>')
    for i, (_, points) in enumerate(lines):
        way, before = "", -math.inf
        for at, value in points:
            # Some that a busy machine did not answer are no gap, and one that stands alone is a dot.
            way += f'L{x_of(at):.1f} {y_of(value):.1f}' if at - before < 8.5 * step else f'M{x_of(at):.1f} {y_of(value):.1f}h0'
            before = at
        out.append(f'<path class="line" d="{way}" fill="none" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="1.7" stroke-linecap="round"/>')
    legend = "".join(f'<span><i style="background:{COLOURS[i % len(COLOURS)]}"></i>{html.escape(name)}</span>' for i, (name, _) in enumerate(lines))
    return f'<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none">{"".join(out)}</svg><div class="legend">{legend}</div>'


def number(panel, lines):
    defaults = panel["fieldConfig"]["defaults"]
    out = []
    for name, points in lines[:3]:
        value = points[-1][1]
        colour = COLOURS[0]
        for step in defaults.get("thresholds", {}).get("steps", []):
            if step["value"] is None or value >= step["value"]:
                colour = {"green": "#2f8f4e", "orange": "#d9822b", "red": "#c0392b"}.get(step["color"], step["color"])
        out.append(f'<div style="color:{colour}">{html.escape(text_of(value, defaults["unit"]))}<small>{html.escape(name if len(lines) > 1 else "")}</small></div>')
    return f'<div class="big">{"".join(out)}</div>'


def table(panel, ask):
    hidden, names = set(), {}
    for one in panel.get("transformations", []):
        hidden |= {name for name, out in one["options"].get("excludeByName", {}).items() if out}
        names |= one["options"].get("renameByName", {})
    rows = [labels for target in panel["targets"] for labels, _ in ask(target["expr"])]
    columns = sorted({label for row in rows for label in row} - hidden)
    head = "".join(f"<th>{html.escape(names.get(one, one))}</th>" for one in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(row.get(one, ''))}</td>" for one in columns) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def page(board, ask, span, about=""):
    """(the page, {panel: how many lines, numbers or rows it has}). ask(query) -> [(labels, [(time, value)])], from span's begin to its end."""
    sections, drawn = [], {}
    for panel in board["panels"]:
        if panel["type"] == "table":
            inside = table(panel, ask)
            drawn[panel["title"]] = inside.count("<tr>") - 1
        else:
            lines = lines_of(panel, ask)
            drawn[panel["title"]] = len(lines)
            inside = number(panel, lines) if panel["type"] == "stat" else chart(panel, lines, span)
        place = panel["gridPos"]
        sections.append(f'<section style="grid-area:{place["y"] + 1}/{place["x"] + 1}/span {place["h"]}/span {place["w"]}">'
                        f'<h2>{html.escape(panel["title"])}</h2>{inside}</section>')
    return (f'<!DOCTYPE html><meta charset="utf-8"><title>{html.escape(board["title"])}</title><style>{STYLE}</style>'
            f'<h1>{html.escape(board["title"])}<small>{html.escape(about)}</small></h1><main>{"".join(sections)}</main>'), drawn

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/top/text.h"

namespace nnd::cli {

namespace {

// Of a section: how many rows are shown, and how many of all are sick.
struct Shown {
  std::size_t rows = 0, sick = 0;
};

// The first rows, and how many there are more. Of a folded one its title alone is left.
std::string rendered(const Section& section, const Shown& shown, const Screen& screen) {
  const std::size_t left_out = section.rows.size() - shown.rows;
  const char* const which = shown.sick != 0 && shown.rows >= shown.sick ? "healthy" : "more";
  const char* const plural = left_out == 1 ? "" : "s";
  if (shown.rows == 0)
    return section.title.empty()
               ? ""
               : screen.wrap(fmt::format("{}: {} row{}", section.title, left_out, plural), 2) +
                     "\n";
  std::string out = section.title.empty() ? "" : screen.wrap(section.title, 2) + "\n";
  TextTable table(section.headings);
  table.may_lack(section.may_lack);
  for (std::size_t i = 0; i < shown.rows; ++i)
    table.add(section.rows[i].cells, section.rows[i].colour);
  out += table.render(screen);
  if (left_out != 0) out += fmt::format("... and {} {} row{}\n", left_out, which, plural);
  return out;
}

std::string joined(const std::vector<Section>& sections, const std::vector<Shown>& shown,
                   bool folded_too, const Screen& screen) {
  std::string out;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const bool folded = shown[i].rows == 0;
    if (folded && shown[i].sick == 0 && !folded_too) continue;
    const auto text = rendered(sections[i], shown[i], screen);
    out += (out.empty() || folded ? "" : "\n") + text;
  }
  return out;
}

// Which section gives up a row next: the one with the most, of two the last. None: all.size().
std::size_t next_to_give(const std::vector<Shown>& all, bool sick_too) {
  std::size_t found = all.size(), most = 0;
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::size_t rows =
        sick_too ? all[i].rows : all[i].rows - std::min(all[i].rows, all[i].sick);
    if (rows <= most) continue;
    found = i;
    most = rows;
  }
  return found;
}

}  // namespace

std::string fitted(const std::vector<Section>& sections, std::size_t lines, const Screen& screen) {
  std::vector<Shown> shown;
  for (const auto& section : sections) {
    const auto sick = static_cast<std::size_t>(std::count_if(
        section.rows.begin(), section.rows.end(), [](const auto& row) { return row.sick; }));
    const std::size_t rows = section.rows.size();
    shown.push_back({lines == 0 ? rows : std::min(rows, std::max(lines, sick)), sick});
  }
  bool folded_too = true;
  for (;;) {
    auto out = joined(sections, shown, folded_too, screen);
    const auto used = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
    if (lines == 0 || used <= lines) return out;
    std::size_t giving = next_to_give(shown, false);
    if (giving == sections.size() && std::exchange(folded_too, false)) continue;
    if (giving == sections.size()) giving = next_to_give(shown, true);
    if (giving == sections.size()) return out;
    --shown[giving].rows;
  }
}

}  // namespace nnd::cli

#include "cli/ping/html_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cli/common/html_text.h"
#include "cli/common/markup.h"
#include "cli/ping/text.h"

namespace nnd::cli {

namespace {

// What a grid shows of each pair.
struct Figure {
  std::string title;
  std::optional<double> (*of)(const PairResult& pair);
  bool more_is_better;
  int digits;
};

std::optional<double> bandwidth_of(const PairResult& pair) {
  if (pair.bandwidth.empty()) return std::nullopt;
  const auto& most = pair.bandwidth.back();
  return std::min(most.there_gb_per_s, most.back_gb_per_s);
}

std::optional<double> latency_of(const PairResult& pair) {
  return pair.latency ? std::optional(pair.latency->p50_us) : std::nullopt;
}

// How good a figure is beside the best of its grid. Each step is a colour.
constexpr std::array<double, 3> kSteps{0.9, 0.75, 0.5};

class Scale {
 public:
  Scale(const Figure& figure, const PingGrid& grid) : figure_(figure) {
    for (const auto& [at, pair] : grid.pairs)
      if (const auto value = figure.of(*pair))
        best_ = !best_                  ? *value
                : figure.more_is_better ? std::max(*best_, *value)
                                        : std::min(*best_, *value);
  }
  bool empty() const { return !best_; }

  std::size_t step(double value) const {
    const double share = figure_.more_is_better ? value / *best_ : *best_ / value;
    std::size_t step = 0;
    while (step < kSteps.size() && share < kSteps[step]) ++step;
    return step;
  }

  std::string legend() const {
    std::string out = "<p class=\"legend\">";
    for (std::size_t step = 0; step <= kSteps.size(); ++step)
      out += fmt::format("<span class=\"step{}\">{}</span> ", step, range(step));
    return out +
           "<span class=\"wrong\">cannot talk</span> <span class=\"refused\">refused</span> "
           "<span class=\"apart\">in subnets that nothing joins</span> "
           "<span class=\"rail\">same name or place: a rail</span></p>\n";
  }

 private:
  std::string number(double value) const { return fmt::format("{:.{}f}", value, figure_.digits); }
  double limit(std::size_t step) const {
    return figure_.more_is_better ? *best_ * kSteps[step] : *best_ / kSteps[step];
  }
  std::string range(std::size_t step) const {
    const char* const within = figure_.more_is_better ? "&ge;" : "&le;";
    const char* const beyond = figure_.more_is_better ? "&lt;" : "&gt;";
    if (step < kSteps.size()) return fmt::format("{} {}", within, number(limit(step)));
    return fmt::format("{} {}", beyond, number(limit(step - 1)));
  }

  const Figure& figure_;
  std::optional<double> best_;
};

// Rails are ports of one name, or of one place where the two hosts have no name in common.
class Rails {
 public:
  explicit Rails(const PingGrid& grid) : grid_(grid) {
    by_name_ = std::any_of(grid.rows.begin(), grid.rows.end(), [&](const auto& row) {
      return std::find(grid.columns.begin(), grid.columns.end(), row) != grid.columns.end();
    });
  }
  bool operator()(std::size_t row, std::size_t column) const {
    return by_name_ ? grid_.rows[row] == grid_.columns[column] : row == column;
  }

 private:
  const PingGrid& grid_;
  bool by_name_;
};

// Ends in different subnets that nothing joins are no fault; everything else that fails is.
std::string class_of(const PairResult& pair) {
  if (pair.state == PairState::kRefused) return "refused";
  return pair.apart ? "apart" : "wrong";
}

std::string cell(const PairResult& pair, const Figure& figure, const Scale& scale, bool rail) {
  std::string kind = class_of(pair), shown = ping_cell(pair);
  if (pair.reachable()) {
    const auto value = figure.of(pair);
    kind = value ? fmt::format("step{}", scale.step(*value)) : "step0";
    if (value) shown = fmt::format("{:.{}f}", *value, figure.digits);
  }
  if (rail) kind += " rail";
  auto hint = ping_line(pair);
  if (pair.told && !pair.told->msg.empty()) hint += ": " + pair.told->msg;
  return fmt::format("<td class=\"{}\" title=\"{}\">{}</td>", kind, html_text(hint),
                     html_text(shown));
}

std::string grid_html(const PingGrid& grid, const Figure& figure, const Scale& scale) {
  auto out = fmt::format("<h3>{}: {} (rows) with {} (columns)</h3>\n{}", html_text(figure.title),
                         html_text(grid.from_host), html_text(grid.to_host),
                         scale.empty() ? "" : scale.legend());
  auto headings = grid.columns;
  headings.insert(headings.begin(), "");
  out += "<div class=\"wide\"><table class=\"grid\">\n" + markup_row(headings, "th");
  const Rails rail(grid);
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    out += "<tr><th>" + html_text(grid.rows[row]) + "</th>";
    for (std::size_t column = 0; column < grid.columns.size(); ++column) {
      const auto pair = grid.pairs.find({grid.rows[row], grid.columns[column]});
      out += pair == grid.pairs.end() ? "<td></td>"
                                      : cell(*pair->second, figure, scale, rail(row, column));
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string ping_grids_html(const std::vector<PairResult>& pairs) {
  const std::array<Figure, 2> figures{
      Figure{"GB/s of the largest messages, the slower direction", bandwidth_of, true, 2},
      Figure{"Latency, median in us", latency_of, false, 1}};
  std::string out;
  for (const auto& grid : ping_grids(pairs)) {
    bool shown = false;
    for (const auto& figure : figures) {
      const Scale scale(figure, grid);
      if (scale.empty() && (shown || &figure != &figures.back())) continue;
      out += grid_html(grid, figure, scale);
      shown = true;
    }
  }
  return out.empty() ? out : "<h2>Who can talk</h2>\n" + out;
}

}  // namespace nnd::cli

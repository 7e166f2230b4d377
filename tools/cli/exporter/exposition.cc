#include "cli/exporter/exposition.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace nnd::cli {

namespace {

// A label's value. Help texts are ours, and have nothing to escape.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '"')
      out += "\\\"";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

struct TypeText {
  const char* type;
  const char* suffix;  // of its samples
};

TypeText text_of(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return {"counter", "_total"};
    case MetricType::kInfo:
      return {"info", "_info"};
    case MetricType::kHistogram:
      return {"histogram", "_bucket"};
    case MetricType::kGauge:
      break;
  }
  return {"gauge", ""};
}

void add_sample(std::string& out, const std::string& name, const Labels& labels, double value) {
  out += name;
  char before = '{';
  for (const auto& [label, text] : labels) {
    fmt::format_to(std::back_inserter(out), "{}{}=\"{}\"", before, label, escaped(text));
    before = ',';
  }
  if (!labels.empty()) out += '}';
  fmt::format_to(std::back_inserter(out), " {}\n", number_text(value));
}

// What a histogram's +Inf bucket says, without its last label.
void add_count(std::string& out, const Family& family, const Sample& sample) {
  if (sample.labels.back().second != "+Inf") return;
  add_sample(out, family.name + "_count", {sample.labels.begin(), sample.labels.end() - 1},
             sample.value);
}

}  // namespace

std::string number_text(double value) { return fmt::format("{}", value); }

std::string sampled_name(const Family& family) {
  return family.type == MetricType::kHistogram ? family.name
                                               : family.name + text_of(family.type).suffix;
}

// OpenMetrics names a family without its samples' suffix, knows infos, and counts a histogram's
// samples only beside their sum. Prometheus' older text has none of the three.
std::string exposition(const Families& families, TextFormat format) {
  const bool open = format == TextFormat::kOpenMetrics;
  std::string out;
  for (const Family& family : families) {
    const auto [type, suffix] = text_of(family.type);
    const bool histogram = family.type == MetricType::kHistogram;
    const bool info = family.type == MetricType::kInfo;
    const std::string sampled = family.name + suffix;
    const std::string& named = histogram || open ? family.name : sampled;
    fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", named, family.help,
                   named, info && !open ? "gauge" : type);
    for (const Sample& sample : family.samples) {
      add_sample(out, sampled, sample.labels, sample.value);
      if (histogram && !open) add_count(out, family, sample);
    }
  }
  if (open) out += "# EOF\n";
  return out;
}

}  // namespace nnd::cli

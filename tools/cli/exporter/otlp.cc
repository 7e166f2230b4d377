#include "cli/exporter/otlp.h"

#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/common/version.h"
#include "cli/exporter/exposition.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr int kCumulative = 2;  // enum AggregationTemporality

// 64-bit integers are decimal text in JSON, or numbers, and receivers take both. Counts are
// numbers, as in the specification's examples/metrics.json: receivers in Rust take no others and
// drop the metric without a word (open-telemetry/opentelemetry-rust#2487). A time would not fit in
// a double.
std::string time_text(std::uint64_t ns) { return std::to_string(ns); }

json attribute(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

json attributes(const Labels& labels) {
  json out = json::array();
  for (const auto& [name, value] : labels) out.push_back(attribute(name, value));
  return out;
}

// By the end of a metric's name, as UCUM has it; empty: it is a count.
const char* unit_of(std::string_view name) {
  if (name.ends_with("_bytes_per_second")) return "By/s";
  if (name.ends_with("_seconds")) return "s";
  if (name.ends_with("_bytes")) return "By";
  return "";
}

double bound_of(const std::string& text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Labels without_bound(const Labels& labels) { return {labels.begin(), labels.end() - 1}; }

}  // namespace

std::string OtlpEncoder::encode(const Families& families, std::uint64_t now_ns) {
  const std::string now = time_text(now_ns);
  std::map<Series, std::uint64_t> starts;
  const auto start = [&](const std::string& name, const Labels& labels) {
    Series series(name, labels);
    const auto known = starts_.find(series);
    const std::uint64_t since = known != starts_.end() ? known->second : now_ns;
    starts.emplace(std::move(series), since);
    return time_text(since);
  };
  const auto points = [&](const Family& family, bool sum) {
    json out = json::array();
    for (const Sample& sample : family.samples) {
      json point{{"attributes", attributes(sample.labels)},
                 {"timeUnixNano", now},
                 {"asDouble", sample.value}};
      if (sum) point["startTimeUnixNano"] = start(family.name, sample.labels);
      out.push_back(std::move(point));
    }
    return out;
  };
  // Ours count the smaller ones too, and OTLP's buckets each its own.
  const auto histogram_points = [&](const Family& family) {
    json out = json::array();
    json bounds = json::array(), counts = json::array();
    double below = 0;
    for (const Sample& sample : family.samples) {
      counts.push_back(static_cast<std::uint64_t>(sample.value - below));
      below = sample.value;
      const std::string& bound = sample.labels.back().second;
      if (bound != "+Inf") {
        bounds.push_back(bound_of(bound));
        continue;
      }
      const Labels labels = without_bound(sample.labels);
      out.push_back({{"attributes", attributes(labels)},
                     {"startTimeUnixNano", start(family.name, labels)},
                     {"timeUnixNano", now},
                     {"count", static_cast<std::uint64_t>(below)},
                     {"explicitBounds", std::exchange(bounds, json::array())},
                     {"bucketCounts", std::exchange(counts, json::array())}});
      below = 0;
    }
    return out;
  };

  json metrics = json::array();
  for (const Family& family : families) {
    if (family.samples.empty()) continue;
    json metric{{"name", sampled_name(family)},
                {"description", family.help},
                {"unit", unit_of(family.name)}};
    switch (family.type) {
      case MetricType::kGauge:
        metric["gauge"] = {{"dataPoints", points(family, false)}};
        break;
      case MetricType::kHistogram:
        metric["histogram"] = {{"aggregationTemporality", kCumulative},
                               {"dataPoints", histogram_points(family)}};
        break;
      case MetricType::kCounter:
      case MetricType::kInfo:
        metric["sum"] = {{"aggregationTemporality", kCumulative},
                         {"isMonotonic", family.type == MetricType::kCounter},
                         {"dataPoints", points(family, true)}};
        break;
    }
    metrics.push_back(std::move(metric));
  }
  starts_ = std::move(starts);

  // Prometheus takes the labels job and instance from the service.
  const json resource{
      {"attributes",
       {attribute("service.name", "nccl-net-diag"), attribute("service.version", tool_version()),
        attribute("service.instance.id", host_), attribute("host.name", host_)}}};
  const json scope{{"name", "nccl-net-diag"}, {"version", tool_version()}};
  const json request{
      {"resourceMetrics",
       {{{"resource", resource}, {"scopeMetrics", {{{"scope", scope}, {"metrics", metrics}}}}}}}};
  // A name of the machine's need not be UTF-8.
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace nnd::cli

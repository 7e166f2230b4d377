// Metrics as OTLP/HTTP carries them: an ExportMetricsServiceRequest in proto3's JSON mapping.
// open-telemetry/opentelemetry-proto v1.11.0, opentelemetry/proto/metrics/v1/metrics.proto and
// docs/specification.md; how Prometheus' types become OTLP's:
// open-telemetry/opentelemetry-specification, compatibility/prometheus_and_openmetrics.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cli/exporter/family.h"

namespace nnd::cli {

// Makes one request after the other: a sum's start time is when its series was seen first. What it
// had counted until then nobody knows the start of, which OTLP says with a first point whose start
// is its own time.
class OtlpEncoder {
 public:
  explicit OtlpEncoder(std::string host) : host_(std::move(host)) {}

  // now_ns: CLOCK_REALTIME of the look.
  std::string encode(const Families& families, std::uint64_t now_ns);

 private:
  using Series = std::pair<std::string, Labels>;

  std::string host_;
  std::map<Series, std::uint64_t> starts_;  // of the last request's series
};

}  // namespace nnd::cli

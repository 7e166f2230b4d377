// Metrics as Prometheus counts them, before they are text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nnd::cli {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  Labels labels;
  double value = 0;
};

enum class MetricType { kCounter, kGauge, kInfo, kHistogram };

struct Family {
  std::string name;  // without the suffix that its type adds: "nccl_net_diag_bytes"
  MetricType type = MetricType::kGauge;
  std::string help;
  // Of a histogram: its buckets, with the label "le", those of one set of labels together and each
  // counting those before it too; the last one is "+Inf".
  std::vector<Sample> samples = {};
};

using Families = std::vector<Family>;

}  // namespace nnd::cli

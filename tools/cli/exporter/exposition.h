// Metrics as text: in Prometheus' format, version 0.0.4, which node_exporter's textfile collector
// reads, or in OpenMetrics' 1.0.
#pragma once

#include <cstdint>
#include <string>

#include "cli/exporter/family.h"

namespace nnd::cli {

enum class TextFormat : std::uint8_t { kPrometheus, kOpenMetrics };

// As it is written: the shortest that reads back as the same.
std::string number_text(double value);

// "nccl_net_diag_bytes_total"; of a histogram, which has samples of several names, the family's
// own.
std::string sampled_name(const Family& family);

std::string exposition(const Families& families, TextFormat format);

}  // namespace nnd::cli

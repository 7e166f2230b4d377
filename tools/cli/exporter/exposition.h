// Metrics as text in Prometheus' format, version 0.0.4, which node_exporter's textfile collector
// reads.
#pragma once

#include <string>

#include "cli/exporter/family.h"

namespace nnd::cli {

// As it is written: the shortest that reads back as the same.
std::string number_text(double value);

std::string exposition(const Families& families);

}  // namespace nnd::cli

// What the rails that a rehearsal's ranks used allow. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/rehearse/report.h"
#include "log/bus_factors.h"

namespace nnd::cli {

// As Rehearsal::allowed.
std::optional<double> allowed_by_ports(const std::vector<Path>& paths,
                                       const std::vector<HcaReport>& hcas);

// By the name that `--collective` takes: "all_reduce".
std::optional<log::BusFactors> bus_factors_of(const std::string& collective, double ranks);

}  // namespace nnd::cli

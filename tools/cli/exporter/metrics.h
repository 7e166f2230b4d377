// What one look at the node's black boxes says, as metrics. No label is of a peer, a QP or free
// text: their number is bounded by the ranks and ports of the node.
#pragma once

#include "cli/exporter/family.h"
#include "cli/exporter/totals.h"
#include "cli/top/view.h"

namespace nnd::cli {

// `totals` has been given the view's processes.
Families metrics_of(const View& view, const Totals& totals);

// The ports that carry connections, each once.
std::vector<PortOf> ports_in_use(const View& view);

}  // namespace nnd::cli

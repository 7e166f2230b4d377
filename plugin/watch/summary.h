// The watch's part of the summary: what each port carried, what waited, and one word on the
// network.
#pragma once

#include "record/pack.h"
#include "watch/watch.h"

namespace nnd::watch {

void add_summary(record::Pack& fields, const Totals& totals, bool worse_port);

}  // namespace nnd::watch

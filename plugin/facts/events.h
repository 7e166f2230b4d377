// The node's facts as events. Not for the data path.
#pragma once

#include "facts/node.h"

namespace nnd::facts {

// node.facts, then gdr.state per device, then hca.port per device and port (a device that can't be
// opened: one without a port). A finding makes its device's first hca.port a warning.
// What `refused` names has the verdict "refused".
void emit_facts(const Node& node, const RefusedBy& refused = {});

}  // namespace nnd::facts

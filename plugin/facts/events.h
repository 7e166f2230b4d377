// The node's facts as events. Not for the data path.
#pragma once

#include "facts/node.h"

namespace nnd::facts {

// node.facts, then gdr.state per device whose state is known (a device that NCCL takes is asked for
// DMA-BUF by NCCL, later), then hca.port per device and port (a device that can't be
// opened: one without a port). The first that NCCL leaves out for want of room is a warning.
// What `refused` names has the verdict "refused".
void emit_facts(const Node& node, const RefusedBy& refused = {});

// Whether emit_facts() leaves a device's gdr.state to when NCCL has asked.
bool gdr_to_come(const Node& node, const Hca& hca);

// gdr.state of one device, whose state is known now.
void emit_gdr(const Node& node, const Hca& hca, const GdrState& gdr);

}  // namespace nnd::facts

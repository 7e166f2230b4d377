// The traffic class that the policy asks of every QP, against what this environment makes NCCL ask
// for: known before a QP is moved.
#pragma once

#include "facts/node.h"
#include "policy/verdict.h"

namespace nnd::policy {

// Adds a verdict to the judgement of that node where they differ.
void judge_traffic_class(const facts::Node& node, const Policy& policy,
                         const facts::Environment& environment, Judgement& judgement);

}  // namespace nnd::policy

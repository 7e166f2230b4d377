// What the environment asks of NCCL and a rehearsal can't play.
#pragma once

#include <functional>
#include <string>

namespace nnd::cli {

// Throws CallError with the variable to set. with_topology: a topology file joins the GPUs.
void refuse_unplayed(const std::function<std::string(const char*)>& variable, bool with_topology);

}  // namespace nnd::cli

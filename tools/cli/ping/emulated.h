// `ping --scenario`: both sides on this machine, each a process on a host of an emulated fabric.
#pragma once

#include <functional>
#include <string>

namespace nnd::cli {

// Starts the tool twice, over the loopback interface: as the listener on the scenario's second
// host, and with this process's own arguments on the first, which shows the result. The latter's
// exit code. stop: asked several times a second. Throws CallError.
int ping_on_fabric(const std::string& scenario, const std::string& nccl,
                   const std::function<bool()>& stop);

}  // namespace nnd::cli

// Which GPUs a program has: the node's by SOFTCUDA_GPUS, of which CUDA_VISIBLE_DEVICES may leave it
// some.
#pragma once

#include <string_view>
#include <vector>

#include "softcuda/gpu.h"

namespace softcuda {

// "0000:10:00.0,0000:11:00.0"; the first that is no PCI address ends the list. Empty: eight from
// 0000:10:00.0 on.
std::vector<PciAddress> parse_gpus(std::string_view text);

// As CUDA reads it: numbers, in the order wanted; the first that isn't one of a GPU ends the list.
std::vector<PciAddress> visible_of(const std::vector<PciAddress>& node, std::string_view text);

// Of this process's environment.
std::vector<PciAddress> node_gpus();
bool node_has_nvswitch();

// Once, at the first call: programs may set CUDA_VISIBLE_DEVICES until then.
void see_visible_gpus();

}  // namespace softcuda

// What a network interface's driver counts of pause frames, global ones and those of priority flow
// control: they are not among the HCA's own counters.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nnd::facts {

// Whether a driver's name for a counter says so: "rx_prio3_pause" (mlx5), "rx_pfc_ena_frames_pri3"
// (bnxt), "rx_priority_3_xoff.nic" (ice), "frames_rx_pripause" (ionic).
bool counts_pauses(std::string_view name) noexcept;

// All statistics of an interface of this network namespace, as `ethtool -S` has them, for as long
// as the driver takes. Empty where it has none.
std::vector<std::pair<std::string, long>> read_statistics(const std::string& netdev);

}  // namespace nnd::facts

#include "foreign/kernel_sayings.h"

#include <algorithm>

namespace nnd::foreign {

// Read in the sources that are named, of Linux where no other project is. Words that ordinary nodes
// print too are left out: a link that comes up, a cable that is plugged, corrected errors of PCIe,
// SXids that aren't fatal, and mlx5's "insufficient power on the PCIe slot", which some nodes print
// at each start and work.
const std::vector<KernelSaying>& kernel_sayings() {
  static const std::vector<KernelSaying> table{
      // clang-format off
      {KernelSays::kOutOfMemory, "", "ut of memory: Killed process ", "mm/oom_kill.c"},
      {KernelSays::kOutOfMemory, "", "Out of memory (oom_kill_allocating_task): Killed process ", "mm/oom_kill.c"},
      {KernelSays::kOutOfMemory, "Killed process", " total-vm:", "mm/oom_kill.c, as of 4.18"},
      {KernelSays::kSegfault, "", "]: segfault at ", "arch/x86/mm/fault.c"},
      {KernelSays::kHungTask, "INFO: task", " blocked for more than ", "kernel/hung_task.c"},
      {KernelSays::kXid, "NVRM:", "Xid (PCI:", "NVIDIA/open-gpu-kernel-modules src/nvidia/src/kernel/gpu/rc/kernel_rc.c"},
      {KernelSays::kSwitch, "", ": SXid (PCI:", "NVIDIA/open-gpu-kernel-modules src/common/nvswitch/kernel/inc/common_nvswitch.h"},

      {KernelSays::kLinkDown, "mlx5_core", ": Link down", "drivers/net/ethernet/mellanox/mlx5/core/en_main.c"},
      {KernelSays::kLinkDown, "bnxt_en", ": NIC Link is Down", "drivers/net/ethernet/broadcom/bnxt/bnxt.c"},
      {KernelSays::kLinkDown, "ice", ": NIC Link is Down", "drivers/net/ethernet/intel/ice/ice_main.c"},
      {KernelSays::kLinkDown, "i40e", ": NIC Link is Down", "drivers/net/ethernet/intel/i40e/i40e_main.c"},
      {KernelSays::kCable, "mlx5_core", "Port module event[error]: module ", "drivers/net/ethernet/mellanox/mlx5/core/events.c"},
      {KernelSays::kCable, "mlx5_core", ", Cable unplugged", "drivers/net/ethernet/mellanox/mlx5/core/events.c"},

      {KernelSays::kSick, "mlx5_core", "device's health compromised", "drivers/net/ethernet/mellanox/mlx5/core/health.c"},
      {KernelSays::kSick, "mlx5_core", "Fatal error ", "drivers/net/ethernet/mellanox/mlx5/core/health.c"},
      {KernelSays::kSick, "mlx5_core", "PCI slot is unavailable", "drivers/net/ethernet/mellanox/mlx5/core/health.c"},
      {KernelSays::kSick, "mlx5_core", "imeout. Will cause a leak of a command resource", "drivers/net/ethernet/mellanox/mlx5/core/cmd.c"},
      {KernelSays::kSick, "bnxt_en", "Firmware fatal reset event", "drivers/net/ethernet/broadcom/bnxt/bnxt.c"},
      {KernelSays::kSick, "bnxt_en", "Fatal firmware reset event", "drivers/net/ethernet/broadcom/bnxt/bnxt.c"},
      {KernelSays::kSick, "bnxt_en", " timedout (", "drivers/infiniband/hw/bnxt_re/qplib_rcfw.c"},
      {KernelSays::kSick, "bnxt_en", "FW STALL Detected", "drivers/infiniband/hw/bnxt_re/qplib_rcfw.c"},
      {KernelSays::kSick, "", ": critical PE Error, GLPE_CRITERR", "drivers/infiniband/hw/irdma/icrdma_if.c"},
      {KernelSays::kBus, "", "PCIe Bus Error: severity=Uncorrect", "drivers/pci/pcie/aer.c"},
      {KernelSays::kIommu, "", "AMD-Vi: Event logged [IO_PAGE_FAULT ", "drivers/iommu/amd/iommu.c"},
      {KernelSays::kIommu, "DMAR:", "] fault addr ", "drivers/iommu/intel/dmar.c"},
      {KernelSays::kIommu, "DMAR:", " PASID ffffffff fault addr ", "drivers/iommu/intel/dmar.c, as of 5.4"},
      {KernelSays::kIommu, "arm-smmu-v3 ", " event: F_TRANSLATION client: ", "drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c"},
      {KernelSays::kQueue, "", "NETDEV WATCHDOG: ", "net/sched/sch_generic.c"},
      // clang-format on
  };
  return table;
}

const KernelSaying* find_kernel_saying(std::string_view text) {
  for (const auto& saying : kernel_sayings())
    if (text.starts_with(saying.driver) && text.find(saying.words) != std::string_view::npos)
      return &saying;
  return nullptr;
}

}  // namespace nnd::foreign

#include "softverbs/pci.h"
#include "softverbs/sysfs_tree.h"

namespace softverbs {

void write_gpu(const FileTree& tree, const Gpu& gpu) {
  write_function(tree, {.pci = gpu.pci,
                        .parent = gpu.parent,
                        .device_class = "0x030200",  // 3D controller
                        .vendor = "0x10de",
                        .device = "0x2330",
                        .subsystem_device = "0x16c1",
                        .numa = gpu.numa});
}

}  // namespace softverbs

// The GPUs that this process pretends to have: nothing but a place on the PCI bus and a number.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softcuda {

struct PciAddress {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
};

// "0000:17:00.0", or without the domain. Empty when the text is no PCI address.
std::optional<PciAddress> parse_pci(std::string_view text);
std::string to_string(const PciAddress& pci);

// One compute capability for all: 9.0, as H100.
inline constexpr int kComputeMajor = 9;
inline constexpr int kComputeMinor = 0;
inline constexpr const char* kDeviceName = "softcuda";
inline constexpr std::size_t kDeviceMemory = std::size_t{80} << 30;
inline constexpr int kSharedPerBlock = 49152, kSharedPerBlockOptin = 232448,
                     kSharedPerMultiprocessor = 233472, kThreadsPerBlock = 1024,
                     kThreadsPerMultiprocessor = 2048, kRegistersPerMultiprocessor = 65536,
                     kMultiprocessors = 132, kL2CacheBytes = 50 << 20;

// To be called before attach(); the default is one GPU at 0000:10:00.0. nvswitch: each GPU is
// linked with all others and reaches their memory. Not thread-safe.
void set_gpus(std::vector<PciAddress> gpus, bool nvswitch = false);
const std::vector<PciAddress>& gpus();
bool have_nvswitch();

// The calling thread's current device, as cudaSetDevice leaves it.
int current_gpu();
void set_current_gpu(int index);

}  // namespace softcuda

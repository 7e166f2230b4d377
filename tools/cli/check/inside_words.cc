#include "cli/check/inside_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nnd::cli {

namespace {

std::string mib(std::uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

}  // namespace

diagnosis::Diagnosis diagnose(const LittleSharedMemory& seen) {
  return diagnosis::by_default(
      nccl_net_diag::Cause::kLimShm,
      fmt::format("/dev/shm has {} free of {}, and NCCL takes {} of it for each rank that uses the "
                  "network: up to {} for the {} GPUs here, once a communicator.",
                  mib(seen.free), mib(seen.bytes), mib(seen.each), mib(seen.each * seen.gpus),
                  seen.gpus));
}

diagnosis::Diagnosis diagnose(const FewCpus& seen) {
  return diagnosis::by_default(
      nccl_net_diag::Cause::kLimCpu,
      fmt::format("A process started like this one may use {:.2g} CPU{} of {} ({}): all threads of "
                  "a rank share {}, NCCL's that drives the network and never rests included.",
                  seen.usable, seen.usable > 1 ? "s" : "", seen.all, seen.by,
                  seen.usable > 1 ? "them" : "it"));
}

diagnosis::Diagnosis diagnose(const FewThreads& seen) {
  return diagnosis::by_default(
      nccl_net_diag::Cause::kLimNproc,
      fmt::format("{} of the {} threads and processes that {} allows are in use.", seen.used,
                  seen.limit, seen.by));
}

diagnosis::Diagnosis diagnose(const NoFabricManager& seen) {
  return {
      nccl_net_diag::Cause::kGpuNvls,
      fmt::format("{} NVSwitch{} here, and no nv-fabricmanager runs: CUDA starts on none of the "
                  "GPUs (error 802), or NCCL can't use NVLink SHARP.",
                  seen.nvswitches, seen.nvswitches == 1 ? " is" : "es are"),
      "systemctl enable --now nvidia-fabricmanager, of the GPU driver's own version; if it was "
      "stopped while the GPUs ran, reset them."};
}

diagnosis::Diagnosis diagnose(const RedirectingBridges& seen) {
  constexpr std::size_t kShown = 4;
  const std::vector<std::string> first(
      seen.bridges.begin(),
      seen.bridges.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, seen.bridges.size())));
  return {
      nccl_net_diag::Cause::kGdrAcs,
      fmt::format("{} PCIe bridge{} ({}{}) send{} to the root complex what GPUs and HCAs of one "
                  "PCIe switch send each other (ACS, P2P request redirect): slow, and on some "
                  "machines it hangs.",
                  seen.bridges.size(), seen.bridges.size() == 1 ? "" : "s", fmt::join(first, ", "),
                  seen.bridges.size() > kShown ? ", ..." : "", seen.bridges.size() == 1 ? "s" : ""),
      fmt::format("On bare metal disable ACS in the BIOS, or at each boot for each of them: "
                  "setpci -s {} ECAP_ACS+0x6.w=0000",
                  first.front())};
}

diagnosis::Diagnosis diagnose(const MoreRanksThanGpus& seen) {
  return diagnosis::by_default(
      nccl_net_diag::Cause::kDupGpu,
      fmt::format("{} runs {} tasks on this node, which {} {} GPU{}{}: if each is a rank, two are "
                  "given one GPU.",
                  seen.launcher, seen.ranks, seen.among.empty() ? "has" : "may use", seen.gpus,
                  seen.gpus == 1 ? "" : "s",
                  seen.among.empty() ? "" : fmt::format(" ({})", seen.among)));
}

diagnosis::Diagnosis diagnose(const MeshProxy& seen) {
  return diagnosis::by_default(
      nccl_net_diag::Cause::kOobMesh,
      fmt::format(
          "A service mesh's proxy listens in this network namespace, by its ports that of {} "
          "({}): it catches the TCP connections by which ranks meet.",
          seen.mesh, fmt::join(seen.ports, ", ")));
}

}  // namespace nnd::cli

#include "diagnosis/node.h"

#include <fmt/format.h>

namespace nnd::diagnosis {

Diagnosis diagnose(const TooFewPorts& seen) {
  return by_default(Cause::kIncNDevs,
                    fmt::format("{} usable HCA port{} remain{}, the policy asks for {}.", seen.left,
                                seen.left == 1 ? "" : "s", seen.left == 1 ? "s" : "", seen.wanted));
}

Diagnosis diagnose(const NoneLeft&) {
  return {Cause::kDevFallback, "No HCA is left, and NCCL would use TCP.",
          "Look at the skipped and refused ports of this node."};
}

Diagnosis diagnose(const TcpAsked& seen) {
  return {Cause::kDevFallback,
          fmt::format("{} makes NCCL use TCP, which the policy doesn't allow.", seen.variable),
          fmt::format("Unset {} in the environment, ~/.nccl.conf and /etc/nccl.conf.",
                      seen.variable.substr(0, seen.variable.find('=')))};
}

Diagnosis diagnose(const NoneUsable& seen) {
  std::string sentence;
  if (seen.hcas != 0)
    sentence =
        fmt::format("None of the {} HCAs can be used by NCCL, which will run over TCP.", seen.hcas);
  else if (seen.sysfs_hcas != 0)
    sentence = fmt::format("sysfs shows {} HCAs and NCCL has none of them: it will run over TCP.",
                           seen.sysfs_hcas);
  else
    sentence = fmt::format(
        "{} RDMA-capable function{} on the PCI bus and no RDMA device: NCCL will run over TCP.",
        seen.functions, seen.functions == 1 ? " is" : "s are");
  Diagnosis out = by_default(Cause::kDevFallback, sentence);
  if (!seen.filter.empty())
    out.remedy = "NCCL_IB_HCA=" + seen.filter + " keeps all of them out: correct or unset it.";
  return out;
}

Diagnosis diagnose(const OtherKindOnly& seen) {
  return {
      Cause::kDevFallback,
      fmt::format("The {} HCA{} here {} neither InfiniBand nor Ethernet ports (EFA): NCCL's own "
                  "transport takes none of them.",
                  seen.hcas, seen.hcas == 1 ? "" : "s", seen.hcas == 1 ? "has" : "have"),
      "Jobs need the aws-ofi-nccl plugin; without it NCCL runs over TCP."};
}

Diagnosis diagnose(const LittleLockedMemory& seen) {
  return by_default(
      Cause::kLimMemlock,
      fmt::format("Locked memory is limited to {} KiB and CAP_IPC_LOCK is missing: registering "
                  "memory will fail.",
                  seen.limit / 1024));
}

Diagnosis diagnose(const TooFewFiles& seen) {
  return {Cause::kLimNoFile, fmt::format("Only {} files may be open.", seen.limit),
          fmt::format("ulimit -n {}", seen.wanted)};
}

Diagnosis diagnose(const FarGpu& seen) {
  return {
      Cause::kGdrDist,
      fmt::format("GPU {} is {} away from every HCA ({} is the nearest), where {} other GPU{} one "
                  "within NCCL's limit for GPUDirect RDMA, PXB: unless NVLink joins it to one of "
                  "these, its data goes through host memory.",
                  seen.gpu, seen.distance, seen.device, seen.near,
                  seen.near == 1 ? " has" : "s have"),
      fmt::format("Place an HCA below that GPU's PCIe switch, or try NCCL_NET_GDR_LEVEL={}, and "
                  "measure.",
                  seen.distance)};
}

Diagnosis diagnose(const FarGpus& seen) {
  return by_default(Cause::kGdrDist, "The GPU nearest to " + seen.device + " (" + seen.nearest +
                                         ") is " + seen.distance +
                                         " away, and NCCL's limit for GPUDirect RDMA is PXB: its " +
                                         "data goes through host memory.");
}

}  // namespace nnd::diagnosis

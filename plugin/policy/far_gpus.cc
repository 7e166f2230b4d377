#include "policy/far_gpus.h"

#include <algorithm>

namespace nnd::policy {

namespace {

using facts::GdrWay;
using facts::PciDistance;

bool does_gdr(const Candidate& one) {
  return !one.out && (one.hca->gdr.way == GdrWay::kPeermem || one.hca->gdr.way == GdrWay::kDmabuf);
}

// NCCL's own limit (ncclTopoCheckGdr, v2.28.9-1 src/graph/paths.cc), where nobody set another. Over
// a link from GPU to CPU it may be further (C2C), as machines of aarch64 have; in a virtual machine
// a topology file says what sysfs doesn't.
bool limit_is_known(const facts::Node& node) {
#if defined(__aarch64__)
  constexpr bool kMayBeC2c = true;
#else
  constexpr bool kMayBeC2c = false;
#endif
  if (kMayBeC2c) return false;
  const auto& set = node.system.environment;
  return node.system.topology_file.empty() &&
         std::none_of(set.begin(), set.end(),
                      [](const auto& variable) { return variable.first == "NCCL_NET_GDR_LEVEL"; });
}

}  // namespace

std::vector<diagnosis::FarGpu> far_gpus(const facts::Node& node, const Candidates& all) {
  std::vector<diagnosis::FarGpu> out;
  if (!limit_is_known(node)) return out;
  for (const facts::PciFunction& gpu : node.pci.gpus) {
    PciDistance nearest = PciDistance::kUnknown;
    const Candidate* at = nullptr;
    for (const Candidate& one : all) {
      if (!does_gdr(one)) continue;
      const PciDistance distance =
          facts::pci_distance(one.hca->device_path, one.hca->numa, gpu.path, gpu.numa);
      if (distance >= nearest) continue;
      nearest = distance;
      at = &one;
    }
    if (at != nullptr && nearest > PciDistance::kPxb)
      out.push_back({at->hca->name, at->port->number, gpu.address,
                     facts::pci_distance_text(nearest), node.pci.gpus.size()});
  }
  // Where most are far it is how the machine is made; their HCAs say so, each of its nearest GPU.
  if (out.size() * 2 >= node.pci.gpus.size()) out.clear();
  for (diagnosis::FarGpu& one : out) one.near = node.pci.gpus.size() - out.size();
  return out;
}

}  // namespace nnd::policy

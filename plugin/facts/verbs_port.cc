#include "facts/verbs_port.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nnd::facts {

namespace {

// "0000:c1" of "0000:c1:00.1": NCCL counts the functions of a card together, and where it is told
// to, virtual ones.
std::string_view bus_of(const Hca& hca) {
  return std::string_view(hca.pci).substr(0, hca.pci.rfind(':'));
}

bool alone_at_its_place(const Node& node, const Hca& hca) {
  return std::none_of(node.hcas.begin(), node.hcas.end(), [&](const Hca& other) {
    return other.name != hca.name && bus_of(other) == bus_of(hca);
  });
}

}  // namespace

const Hca* hca_of(const Node& node, std::string_view name) {
  name = name.substr(0, name.find('+'));
  if (const Hca* hca = node.find(name)) return hca;
  constexpr std::string_view kDataDirect = "_dma";
  if (name.ends_with(kDataDirect)) name.remove_suffix(kDataDirect.size());
  return node.find(name);
}

const Port* verbs_port(const Node& node, std::string_view name, int nccl_port,
                       const std::function<bool(std::string_view, unsigned)>& visible) {
  const Hca* hca = hca_of(node, name);
  if (hca == nullptr) return nullptr;
  std::vector<const Port*> taken;
  for (const Port& port : hca->ports)
    if (port.choice == PortChoice::kTaken && visible(hca->name, port.number))
      taken.push_back(&port);
  if (taken.size() == 1) return taken.front();
  if (!alone_at_its_place(node, *hca)) return nullptr;
  for (std::size_t before = 0; before < taken.size(); ++before)
    if (taken[before]->number + static_cast<int>(before) == nccl_port) return taken[before];
  return nullptr;
}

}  // namespace nnd::facts

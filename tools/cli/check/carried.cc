#include "cli/check/carried.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace nnd::cli {

namespace {

// Without the headers of its packets, which take some percent more: PCI Express Base
// Specification, 8b/10b up to 5 GT/s, 128b/130b up to 32, flits of 256 bytes with 242 of data.
double link_gbit(const facts::PcieLink& link) {
  const double part = link.current_gts < 8    ? 8.0 / 10
                      : link.current_gts < 64 ? 128.0 / 130
                                              : 242.0 / 256;
  return link.current_gts * part * link.current_width;
}

struct Card {
  const facts::Hca* first = nullptr;
  std::vector<std::string> hcas;
  double gbit = 0;
};

// An HCA and those of its ports that NCCL will use.
struct Used {
  const facts::Hca* hca = nullptr;
  std::vector<std::string> ports;
};

std::vector<Used> used_of(const facts::Node& node, const std::set<std::string>& ports) {
  std::vector<Used> out;
  for (const facts::Hca& hca : node.hcas) {
    Used one{&hca, {}};
    for (const facts::Port& port : hca.ports)
      if (std::string name = fmt::format("{}:{}", hca.name, port.number); ports.contains(name))
        one.ports.push_back(std::move(name));
    if (!one.ports.empty()) out.push_back(std::move(one));
  }
  return out;
}

// The ports nearest to a GPU, of those that no CPU is between: beyond one NCCL spreads over all.
std::vector<std::string> nearest_to(const facts::PciFunction& gpu, const std::vector<Used>& used) {
  using facts::PciDistance;
  std::vector<std::string> out;
  PciDistance least = PciDistance::kPxb;
  for (const Used& one : used) {
    const facts::Hca& hca = *one.hca;
    if (hca.pci.empty()) continue;
    const PciDistance distance = facts::pci_distance(hca.device_path, hca.numa, gpu.path, gpu.numa);
    if (distance > least) continue;
    if (distance < least) out.clear();
    least = distance;
    out.insert(out.end(), one.ports.begin(), one.ports.end());
  }
  return out;
}

std::string name_of_gpu(const facts::PciFunction& gpu) {
  return gpu.index < 0 ? "GPU " + gpu.address : fmt::format("GPU {} {}", gpu.index, gpu.address);
}

// In the order of the GPUs.
std::vector<SharedPorts> shared_by(const facts::Node& node, const std::vector<Used>& used) {
  std::vector<SharedPorts> near, out;
  SharedPorts all;
  for (const Used& one : used)
    all.ports.insert(all.ports.end(), one.ports.begin(), one.ports.end());
  for (const facts::PciFunction& gpu : node.pci.gpus) {
    all.gpus.push_back(name_of_gpu(gpu));
    auto ports = nearest_to(gpu, used);
    if (ports.empty()) continue;
    auto known = std::find_if(near.begin(), near.end(),
                              [&](const SharedPorts& one) { return one.ports == ports; });
    if (known == near.end()) known = near.insert(near.end(), {{}, std::move(ports)});
    known->gpus.push_back(all.gpus.back());
  }
  const auto too_few = [](const SharedPorts& one) { return one.gpus.size() > one.ports.size(); };
  std::copy_if(near.begin(), near.end(), std::back_inserter(out), too_few);
  if (out.empty() && too_few(all)) out.push_back(std::move(all));
  return out;
}

void find_through_host(const facts::Node& node, const std::vector<Used>& used, Carried& out) {
  if (out.gpus == 0 || !node.system.gpu_driver_loaded) return;
  for (const Used& one : used)
    if (one.hca->gdr.way == facts::GdrWay::kNone) {
      out.through_host.push_back(one.hca->name);
      out.why_through_host.insert(one.hca->gdr.why);
    }
  out.all_through_host = out.through_host.size() == used.size();
}

std::string shared_line(const std::vector<SharedPorts>& shared) {
  std::vector<std::string> parts;
  for (const SharedPorts& one : shared)
    parts.push_back(
        fmt::format("{} share {}", fmt::join(one.gpus, ", "), fmt::join(one.ports, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string through_host_line(const Carried& carried) {
  return fmt::format(
      "no GPUDirect RDMA{} ({}): data goes through host memory, which is the bound there, and not "
      "the ports",
      carried.all_through_host ? "" : fmt::format(" by {}", fmt::join(carried.through_host, ", ")),
      fmt::join(carried.why_through_host, "; "));
}

}  // namespace

// From ConnectX-8 on a card may reach GPUs by a second function (Data Direct), whose link is
// another one.
double slot_gbit(const facts::Hca& hca) {
  constexpr std::uint32_t kMellanox = 0x02c9, kConnectX8 = 0x1023;
  const bool second_way = hca.vendor_id == kMellanox && hca.vendor_part_id >= kConnectX8 &&
                          hca.vendor_part_id < kConnectX8 + 0x100;
  return second_way || hca.data_direct.error == 0 ? 0 : link_gbit(hca.pcie);
}

Carried carried_by(const facts::Node& node, const std::set<std::string>& ports) {
  Carried out;
  std::map<std::string, Card> cards;
  bool known = true;
  for (const facts::Hca& hca : node.hcas)
    for (const facts::Port& port : hca.ports) {
      if (!ports.contains(fmt::format("{}:{}", hca.name, port.number))) continue;
      ++out.ports;
      known = known && port.speed_mbps > 0;
      Card& card = cards[hca.card()];
      if (card.first == nullptr) card.first = &hca;
      if (card.hcas.empty() || card.hcas.back() != hca.name) card.hcas.push_back(hca.name);
      card.gbit += static_cast<double>(port.speed_mbps) / 1000;
    }
  if (!known) return out;
  out.gpus = node.pci.gpus.size();
  for (const auto& [name, card] : cards) {
    const double slot = slot_gbit(*card.first);
    const bool less = slot > 0 && slot < card.gbit;
    const facts::PcieLink& link = card.first->pcie;
    if (less)
      out.slots.push_back({fmt::format("{}", fmt::join(card.hcas, ", ")), link.current_gts,
                           link.current_width, slot, card.gbit});
    out.gbit += less ? slot : card.gbit;
  }
  const auto used = used_of(node, ports);
  out.shared = shared_by(node, used);
  find_through_host(node, used, out);
  return out;
}

std::vector<std::string> carried_lines(const Carried& carried) {
  if (carried.gbit <= 0) return {};
  std::vector<std::string> out;
  std::string all =
      fmt::format("{} carr{} {:.0f} Gbit/s, {:.3g} GB/s, each way",
                  carried.ports == 1 ? "the port" : fmt::format("the {} ports", carried.ports),
                  carried.ports == 1 ? "ies" : "y", carried.gbit, carried.gbit / 8);
  if (carried.gpus > 1)
    all += fmt::format(": {:.3g} GB/s for each of {} GPUs",
                       carried.gbit / 8 / static_cast<double>(carried.gpus), carried.gpus);
  out.push_back(std::move(all));
  for (const SlotLimit& one : carried.slots)
    out.push_back(fmt::format("{}: the PCIe link ({:g} GT/s x{}) carries {:.0f} Gbit/s of {:.0f}",
                              one.hcas, one.gts, one.width, one.slot_gbit, one.ports_gbit));
  if (!carried.shared.empty()) out.push_back(shared_line(carried.shared));
  if (!carried.through_host.empty()) out.push_back(through_host_line(carried));
  return out;
}

}  // namespace nnd::cli

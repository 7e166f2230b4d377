#include "cli/check/carried.h"

#include <fmt/format.h>

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

// 0: not known. From ConnectX-8 on a card may reach GPUs by a second function (Data Direct), whose
// link is another one.
double slot_gbit(const facts::Hca& hca) {
  constexpr std::uint32_t kMellanox = 0x02c9, kConnectX8 = 0x1023;
  const bool second_way = hca.vendor_id == kMellanox && hca.vendor_part_id >= kConnectX8 &&
                          hca.vendor_part_id < kConnectX8 + 0x100;
  return second_way || hca.data_direct.error == 0 ? 0 : link_gbit(hca.pcie);
}

struct Card {
  const facts::Hca* first = nullptr;
  std::vector<std::string> hcas;
  double gbit = 0;
};

}  // namespace

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
  return out;
}

}  // namespace nnd::cli

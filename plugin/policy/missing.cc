#include "policy/missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "policy/address_plan.h"
#include "policy/seats.h"

namespace nnd::policy {

namespace {

using facts::Gid;
using facts::Hca;
using facts::Port;

// "0" of "0000:c1:00.0": of a card with a function a port, which port it is.
std::string_view function_of(const Hca& hca) {
  const std::string_view pci = hca.pci;
  const auto dot = pci.rfind('.');
  return dot == pci.npos ? std::string_view() : pci.substr(dot + 1);
}

// The first GID that stands for an IPv4 address of the interface, and not a link-local one.
const Gid* addressed(const Port& port) {
  for (const Gid& gid : port.gids)
    if (gid.address && gid.address->address.family == facts::Family::kIpv4 &&
        !gid.address->address.link_local())
      return &gid;
  return nullptr;
}

class MissingPortFinder {
 public:
  MissingPortFinder(const facts::Node& node, const Candidates& all)
      : node_(node), all_(all), seats_(node.pci.gpus) {
    for (const Candidate& one : all)
      if (!one.out && one.membership == Membership::kCompute) seats_.take(*one.hca);
    for (const Hca& hca : node.hcas)
      for (const Port& port : hca.ports)
        if (could_sit(hca, port)) seats_.consider(hca);
    for (const Hca& hca : node.hcas)
      for (const Port& port : hca.ports)
        if (could_sit(hca, port))
          for (const std::string& gpu : seats_.free_beside(hca)) ++wanting_[gpu];
  }

  std::vector<MissingPort> find() const {
    std::vector<MissingPort> out;
    for (const Hca& hca : node_.hcas)
      for (const Port& port : hca.ports) {
        if (port.choice != facts::PortChoice::kNotActive ||
            !node_.filter.takes(hca.name, port.number))
          continue;
        diagnosis::MissingPort seen{fmt::format("{}:{}", hca.name, port.number),
                                    facts::port_state_text(port.state),
                                    facts::phys_state_text(port.phys_state)};
        if (beside_its_gpu(hca, port, seen) || one_for_each_gpu(hca, port, seen) ||
            set_up_as_siblings(hca, port, seen))
          out.push_back({&hca, &port, std::move(seen)});
      }
    return out;
  }

 private:
  // The same port of the same make as a rail that is beside a GPU, and not up.
  bool could_sit(const Hca& hca, const Port& port) const {
    return port.choice == facts::PortChoice::kNotActive &&
           node_.filter.takes(hca.name, port.number) &&
           std::any_of(all_.begin(), all_.end(), [&](const Candidate& one) {
             return !one.out && one.membership == Membership::kCompute && beside_gpu(*one.hca) &&
                    one.port->link_layer == port.link_layer && one.port->number == port.number &&
                    one.hca->vendor_part_id == hca.vendor_part_id &&
                    function_of(*one.hca) == function_of(hca);
           });
  }

  // Its GPU has fewer rails than the others, and no more ports that are down than are missing.
  bool beside_its_gpu(const Hca& hca, const Port& port, diagnosis::MissingPort& seen) const {
    if (!could_sit(hca, port)) return false;
    for (const std::string& gpu : seats_.free_beside(hca))
      if (wanting_.at(gpu) <= seats_.free_at(gpu)) {
        seen.gpu = gpu;
        seen.usual = seats_.usual();
        return true;
      }
    return false;
  }

  // It was given an address as its siblings of the same make have it, one subnet a port; or
  // InfiniBand's link is up and nobody set it up.
  bool set_up_as_siblings(const Hca& hca, const Port& port, diagnosis::MissingPort& seen) const {
    constexpr std::size_t kSiblings = 2;
    std::vector<const Candidate*> rails;
    for (const Candidate& one : all_)
      if (!one.out && one.membership == Membership::kCompute) rails.push_back(&one);
    const bool alike = std::all_of(rails.begin(), rails.end(), [&](const Candidate* one) {
      return one->hca->vendor_part_id == hca.vendor_part_id &&
             one->port->infiniband() == port.infiniband();
    });
    if (rails.size() < kSiblings || !alike) return false;
    // Where other networks have ports of this node, it may be one of theirs.
    const bool alone = rails.size() == all_.size();
    const Gid* const own = addressed(port);
    if (port.infiniband() ? !alone || !is_linked(port) : !is_addressed_as(rails, own, alone))
      return false;
    seen.address = own == nullptr ? "" : own->address->text();
    seen.others = rails.size();
    return true;
  }
  static bool is_linked(const Port& port) {
    constexpr int kLinkUp = 5;
    return port.phys_state == kLinkUp;
  }
  static bool is_addressed_as(const std::vector<const Candidate*>& rails, const Gid* own,
                              bool alone) {
    if (own == nullptr) return false;
    const auto plan = plan_of(rails);
    if (!alone && !(plan && plan->contains(own->address->address))) return false;
    return std::all_of(rails.begin(), rails.end(), [&](const Candidate* one) {
      const Gid* const gid = addressed(*one->port);
      return gid != nullptr && gid->address->length == own->address->length &&
             !gid->address->contains(own->address->address);
    });
  }

  // As virtual machines have it: the PCI bus shows no GPU beside an HCA, and with the ports of one
  // make that are down there is one for each GPU.
  bool one_for_each_gpu(const Hca& hca, const Port& port, diagnosis::MissingPort& seen) const {
    constexpr std::size_t kGpus = 4;
    const std::size_t gpus = node_.pci.gpus.size();
    const bool bus_shows = std::any_of(node_.hcas.begin(), node_.hcas.end(), beside_gpu);
    if (gpus < kGpus || bus_shows) return false;
    const auto alike = [&](const Hca& other, const Port& its) {
      return its.link_layer == port.link_layer && its.number == port.number &&
             other.vendor_part_id == hca.vendor_part_id && function_of(other) == function_of(hca);
    };
    const auto up =
        static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [&](const Candidate& one) {
          return !one.out && one.membership == Membership::kCompute && alike(*one.hca, *one.port);
        }));
    std::size_t down = 0;
    for (const Hca& other : node_.hcas)
      for (const Port& its : other.ports)
        if (its.choice == facts::PortChoice::kNotActive &&
            node_.filter.takes(other.name, its.number) && alike(other, its))
          ++down;
    if (up + down != gpus || down * 3 > up) return false;
    seen.gpus = gpus;
    seen.others = up;
    return true;
  }

  const facts::Node& node_;
  const Candidates& all_;
  Seats seats_;
  std::map<std::string, std::size_t> wanting_;  // ports that are down and could be the rail, by GPU
};

}  // namespace

std::vector<MissingPort> missing_ports(const facts::Node& node, const Candidates& all) {
  return MissingPortFinder(node, all).find();
}

}  // namespace nnd::policy

#include "policy/fabric.h"

#include <algorithm>
#include <map>
#include <set>

#include "policy/address_plan.h"
#include "policy/seats.h"

namespace nnd::policy {

namespace {

using diagnosis::Unlike;
using facts::IpPrefix;
using facts::NetDev;
using facts::PciDistance;

// What speaks for a group of HCAs; the largest sum is the fabric. Each counts as much as its share:
// all GPUs have an HCA of the group beside them, all bandwidth and all cards are the group's.
constexpr double kNearness = 3.5;
constexpr double kBandwidth = 4;
constexpr double kNumber = 1;
constexpr double kNoDefaultRoute = 1;
constexpr double kAddresses = 1;   // that peers can reach
constexpr double kInfiniband = 1;  // rarely cabled for storage or management alone
constexpr double kPlain = 1;       // no bonds, where they are the fewer
// By as much the fabric must outweigh those that are refused for not being of it.
constexpr double kClear = 1.4;

// Candidates that look alike: one link layer, one speed, all bonds or none.
struct Group {
  bool infiniband = false;
  bool bonds = false;
  long mbps = 0;
  std::vector<Candidate*> members;
  double weight = 0;

  bool has(const Candidate& one) const {
    return one.port->infiniband() == infiniband && one.hca->bond.empty() != bonds &&
           one.port->speed_mbps == mbps;
  }
};

bool of_unwanted_layer(const Candidate& one) {
  const LinkLayerRule rule = one.rules.hca.link_layer;
  return (rule == LinkLayerRule::kInfiniband && !one.port->infiniband()) ||
         (rule == LinkLayerRule::kRoce && one.port->infiniband());
}

bool has_default_route(const facts::Node& node, const Candidate& one) {
  const NetDev* dev = one.port->ethernet() ? one.netdev(node.network) : nullptr;
  return dev && dev->default_route;
}

bool has_address(const Candidate& one) {
  if (one.port->infiniband()) return one.port->lid != 0;
  const facts::Gid* gid = one.port->picked();
  return gid && !context::gid_link_local(gid->raw);
}

// The bridges above it: what is behind a switch has more than what is at the CPU.
long depth(const Candidate& one) {
  const std::string& path = one.hca->device_path;
  return std::count(path.begin(), path.end(), '/');
}

// Functions and ports of a card count once: an onboard NIC is no more for having two ports.
std::set<std::string> cards(const std::vector<Candidate*>& members) {
  std::set<std::string> out;
  for (const Candidate* one : members) out.insert(one->hca->card());
  return out;
}

std::set<std::string> gpus_beside(const std::vector<Candidate*>& members) {
  std::set<std::string> out;
  for (const Candidate* one : members)
    if (beside_gpu(*one->hca)) out.insert(one->hca->near_gpus.begin(), one->hca->near_gpus.end());
  return out;
}

class Finder {
 public:
  Finder(const facts::Node& node, Candidates& all) : node_(node) {
    for (Candidate& one : all)
      if (!one.out && !of_unwanted_layer(one)) add(one);
  }

  void find() {
    if (groups_.empty()) return;
    for (Group& group : groups_) group.weight = weigh(group);
    fabric_ =
        &*std::max_element(groups_.begin(), groups_.end(),
                           [](const Group& a, const Group& b) { return a.weight < b.weight; });
    find_covered();
    plan_ = plan_of({fabric_->members.begin(), fabric_->members.end()});
    for (Group& group : groups_)
      for (Candidate* one : group.members) compare(*one);
    find_rails();
    for (Group& group : groups_)
      for (Candidate* one : group.members) decide(group, *one);
    compare_cards();
    const auto inside = count_inside();
    for (Group& group : groups_)
      for (Candidate* one : group.members) one->unlike.fabric = inside;
  }

 private:
  void add(Candidate& one) {
    auto found = std::find_if(groups_.begin(), groups_.end(),
                              [&one](const Group& group) { return group.has(one); });
    if (found == groups_.end())
      found = groups_.insert(
          groups_.end(),
          {one.port->infiniband(), !one.hca->bond.empty(), one.port->speed_mbps, {}, 0});
    found->members.push_back(&one);
  }

  // A card's bandwidth is that of its fastest port here: both ports share one PCIe link.
  static double bandwidth(const Group& group) {
    return static_cast<double>(std::max(group.mbps, 1L)) *
           static_cast<double>(cards(group.members).size());
  }

  double weigh(const Group& group) const {
    double total = 0, all_cards = 0;
    std::size_t plain = 0, bonds = 0;
    for (const Group& other : groups_) {
      total += bandwidth(other);
      all_cards += static_cast<double>(cards(other.members).size());
      (other.bonds ? bonds : plain) += other.members.size();
    }
    const auto share = [&group](auto holds) {
      return static_cast<double>(std::count_if(group.members.begin(), group.members.end(),
                                               [&](const Candidate* one) { return holds(*one); })) /
             static_cast<double>(group.members.size());
    };
    double out = kBandwidth * bandwidth(group) / total;
    out += kNumber * static_cast<double>(cards(group.members).size()) / all_cards;
    out += kNoDefaultRoute *
           share([this](const Candidate& one) { return !has_default_route(node_, one); });
    out += kAddresses * share(has_address);
    if (group.infiniband) out += kInfiniband;
    if (!group.bonds && bonds != 0 && plain >= bonds) out += kPlain;
    return out + nearness(group);
  }

  // One HCA beside one GPU may be chance.
  double nearness(const Group& group) const {
    if (node_.pci.gpus.empty()) return 0;
    const double covered = static_cast<double>(gpus_beside(group.members).size()) /
                           static_cast<double>(node_.pci.gpus.size());
    const auto near = std::count_if(group.members.begin(), group.members.end(),
                                    [](const Candidate* one) { return beside_gpu(*one->hca); });
    return kNearness * covered * (near > 1 ? 1 : 0.5);
  }

  void compare(Candidate& one) const {
    Unlike& out = one.unlike;
    if (one.port->infiniband() != fabric_->infiniband) {
      out.other_layer = one.rules.hca.link_layer == LinkLayerRule::kMajority;
      return;  // nothing else of it can be compared
    }
    if (one.hca->bond.empty() == fabric_->bonds)
      out.bonding = fabric_->bonds ? Unlike::Bonding::kPlain : Unlike::Bonding::kBond;
    if (one.port->speed_mbps != 0 && fabric_->mbps != 0 && one.port->speed_mbps != fabric_->mbps)
      out.mbps = one.port->speed_mbps, out.usual_mbps = fabric_->mbps;
    if (has_default_route(node_, one) && fabric_has_no_default_route(one))
      out.default_route = one.netdev(node_.network)->name;
    compare_network(one);
    const bool of_other_network = !out.subnet.empty() || !out.default_route.empty();
    if ((covered_ || (of_other_network && rails_are_near())) && is_far(one)) {
      out.distance = facts::pci_distance_text(one.hca->gpu_distance);
      out.usual_distance = facts::pci_distance_text(usual_distance());
    }
    // A fleet of bonds has its default route on one of them.
    if (out.kinds() == 1 && !out.default_route.empty() && fabric_->bonds) out = {};
  }

  // Of the fabric's make, and down or of another speed.
  std::vector<const facts::Hca*> not_whole() const {
    std::vector<const facts::Hca*> out;
    for (const facts::Hca& hca : node_.hcas)
      if (is_missing_rail(hca)) out.push_back(&hca);
    for (const Group& group : groups_)
      if (&group != fabric_ && group.infiniband == fabric_->infiniband &&
          group.bonds == fabric_->bonds)
        for (const Candidate* one : group.members)
          if (of_their_make(*one->hca)) out.push_back(one->hca);
    return out;
  }

  // A GPU whose rail is slow or down has one all the same.
  void find_covered() {
    const std::vector<const facts::Hca*> those = not_whole();
    std::set<std::string> covered = gpus_beside(fabric_->members);
    for (const facts::Hca* hca : those)
      if (beside_gpu(*hca)) covered.insert(hca->near_gpus.begin(), hca->near_gpus.end());
    covered_ = covered.size() == node_.pci.gpus.size() && !covered.empty();
    Seats seats(node_.pci.gpus);
    for (const Candidate* one : fabric_->members) seats.take(*one->hca);
    for (const facts::Hca* hca : those) seats.consider(*hca);
    not_whole_ = std::count_if(those.begin(), those.end(), [&](const facts::Hca* hca) {
      return !seats.free_beside(*hca).empty();
    });
  }

  // Rails beside a GPU, with those that are slow or down.
  long near() const {
    return not_whole_ + std::count_if(fabric_->members.begin(), fabric_->members.end(),
                                      [](const Candidate* one) { return beside_gpu(*one->hca); });
  }

  bool of_their_make(const facts::Hca& hca) const {
    return std::any_of(
        fabric_->members.begin(), fabric_->members.end(),
        [&hca](const Candidate* one) { return one->hca->vendor_part_id == hca.vendor_part_id; });
  }

  // Of the fabric's make, and down on a port that the others use.
  bool is_missing_rail(const facts::Hca& hca) const {
    return of_their_make(hca) &&
           std::any_of(hca.ports.begin(), hca.ports.end(), [&](const facts::Port& port) {
             return port.choice == facts::PortChoice::kNotActive &&
                    node_.filter.takes(hca.name, port.number) &&
                    std::any_of(fabric_->members.begin(), fabric_->members.end(),
                                [&port](const Candidate* one) {
                                  return one->port->number == port.number &&
                                         one->port->link_layer == port.link_layer;
                                });
           });
  }

  // A rail that came up slow stays one: its GPU has fewer rails than the others have, and nobody
  // else is there for it. Whatever its routes and addresses are, it is no other network's.
  void find_rails() {
    Seats seats(node_.pci.gpus);
    for (const Candidate* one : fabric_->members) seats.take(*one->hca);
    for (const facts::Hca& hca : node_.hcas)
      if (is_missing_rail(hca)) seats.consider(hca);
    for (const Group& group : groups_)
      for (const Candidate* one : group.members)
        if (is_only_slower(*one)) seats.consider(*one->hca);
    std::map<std::string, std::vector<Candidate*>> wanting;
    std::vector<Candidate*> slower;
    for (Group& group : groups_)
      for (Candidate* one : group.members) {
        if (&group == fabric_ || one->unlike.other_layer || group.bonds != fabric_->bonds) continue;
        for (const std::string& gpu : seats.free_beside(*one->hca)) wanting[gpu].push_back(one);
        if (is_slower_sibling(*one)) slower.push_back(one);
      }
    std::map<std::string, std::size_t> down;  // whose seat it is
    for (const facts::Hca& hca : node_.hcas)
      if (is_missing_rail(hca))
        for (const std::string& gpu : seats.free_beside(hca)) ++down[gpu];
    for (const auto& [gpu, those] : wanting)
      if (those.size() + down[gpu] <= seats.free_at(gpu))
        for (Candidate* one : those) one->unlike = {};
    const std::size_t rails = fabric_->members.size();
    // An InfiniBand HCA has no address that tells: there the number does.
    const bool known = !fabric_->infiniband || rails + slower.size() == node_.pci.gpus.size();
    if (seats.of_all() == 0 && slower.size() * 4 <= rails && known)
      for (Candidate* one : slower) one->unlike = {};
    if (rails == 1)
      for (Group& group : groups_)
        if (group.members.size() == 1 && is_only_slower(*group.members.front()) &&
            is_twin(*group.members.front()->hca, *fabric_->members.front()->hca) &&
            group.members.front()->hca->near_gpus != fabric_->members.front()->hca->near_gpus)
          group.members.front()->unlike = {};
  }

  bool is_only_slower(const Candidate& one) const {
    return one.unlike.kinds() == 1 && one.unlike.mbps != 0 && one.port->speed_mbps < fabric_->mbps;
  }

  // Where the PCI bus says nothing: in nothing but its speed another than HCAs of its make, and
  // with an address of their plan.
  bool is_slower_sibling(const Candidate& one) const {
    const auto own = network_of(one);
    return is_only_slower(one) && plan_ && own && plan_->contains(own->address) &&
           std::all_of(fabric_->members.begin(), fabric_->members.end(),
                       [&one](const Candidate* other) {
                         return other->hca->vendor_part_id == one.hca->vendor_part_id;
                       });
  }

  bool fabric_has_no_default_route(const Candidate& one) const {
    long others = 0, carriers = 0;
    for (const Candidate* other : fabric_->members) {
      if (other == &one) continue;
      ++others;
      carriers += has_default_route(node_, *other) ? 1 : 0;
    }
    return others > 0 && carriers * 2 < others;
  }

  void compare_network(Candidate& one) const {
    if (!one.rules.roce.subnets.empty()) return;  // the policy has the plan, and a rule for it
    const auto own = network_of(one);
    if (!plan_ || !own || own->address.family != plan_->address.family ||
        plan_->contains(own->address) || numbered_on(fabric_->members, *plan_, *own) ||
        joined(one, *own))
      return;
    // A second address of the same port shows what it is for.
    if (std::any_of(one.port->gids.begin(), one.port->gids.end(), [this](const facts::Gid& gid) {
          return gid.type == facts::GidType::kRoceV2 && gid.address &&
                 plan_->contains(gid.address->address);
        })) {
      one.foreign_gid = {*plan_};
      return;
    }
    one.unlike.subnet = own->network_text();
    one.unlike.usual_subnet = plan_->network_text();
  }

  // A route from it to the fabric, or back. Its own default route leads out, not to a rail.
  bool joined(const Candidate& one, const IpPrefix& own) const {
    const NetDev* const here = one.netdev(node_.network);
    for (const Candidate* other : fabric_->members) {
      const auto there = network_of(*other);
      const NetDev* const dev = other->netdev(node_.network);
      if (other == &one || !there || !plan_->contains(there->address)) continue;
      const facts::Route* const back =
          dev ? facts::route_by(node_.network, own.address, dev->ifindex) : nullptr;
      const facts::Route* const out =
          here ? facts::route_by(node_.network, there->address, here->ifindex) : nullptr;
      return back || (out && out->dst.length != 0);  // what is true of one is true of its like
    }
    return false;
  }

  bool is_far(const Candidate& one) const {
    if (beside_gpu(*one.hca) || one.hca->gpu_distance == PciDistance::kUnknown) return false;
    // The HCA of a GPU that is lost hangs as its siblings do.
    return std::none_of(fabric_->members.begin(), fabric_->members.end(),
                        [&one](const Candidate* other) {
                          return beside_gpu(*other->hca) && depth(*other) == depth(one);
                        });
  }

  // Some GPUs may have none, and yet that is where this fabric's HCAs hang.
  bool rails_are_near() const {
    constexpr long kMany = 4;
    const long far = std::count_if(fabric_->members.begin(), fabric_->members.end(),
                                   [](const Candidate* one) { return !beside_gpu(*one->hca); });
    return near() >= kMany && far * 2 <= near();
  }

  // What is odd about a port is odd about its card: of a port that differs in its network or its
  // place alone, too.
  void compare_cards() {
    for (Group& group : groups_)
      for (Candidate* one : group.members) {
        if (one->unlike.kinds() != 1 ||
            (one->unlike.subnet.empty() && one->unlike.distance.empty()))
          continue;
        if (const Candidate* other = outside_on_card_of(*one)) {
          one->unlike.card = other->name();
          decide(group, *one);
        }
      }
  }

  const Candidate* outside_on_card_of(const Candidate& one) const {
    for (const Group& group : groups_)
      for (const Candidate* other : group.members)
        if (other != &one && other->membership == Membership::kOutside &&
            !other->unlike.other_layer && other->hca->card() == one.hca->card())
          return other;
    return nullptr;
  }

  PciDistance usual_distance() const {
    PciDistance out = PciDistance::kPix;
    for (const Candidate* one : fabric_->members)
      if (beside_gpu(*one->hca)) out = std::max(out, one->hca->gpu_distance);
    return out;
  }

  void decide(const Group& group, Candidate& one) const {
    Unlike& unlike = one.unlike;
    const std::size_t kinds = unlike.kinds();
    const bool clear = &group == fabric_ || fabric_->weight - group.weight >= kClear;
    if (unlike.other_layer || kinds >= 2)
      one.membership = clear ? Membership::kOutside : Membership::kDoubtful;
    else if (kinds == 1 && !unlike.distance.empty() && is_surplus())
      one.membership = has_one_each() ? Membership::kOutside : Membership::kDoubtful;
    else if (kinds == 1 && !unlike.subnet.empty() && plan_is_clear())
      one.membership = Membership::kDoubtful;
    unlike.sure = one.membership != Membership::kDoubtful;
  }

  // By itself another network only tells something where nearly all share one.
  bool plan_is_clear() const {
    const auto others =
        std::count_if(fabric_->members.begin(), fabric_->members.end(),
                      [](const Candidate* one) { return !one->unlike.subnet.empty(); });
    return others * 4 <= static_cast<long>(fabric_->members.size());
  }

  // At most half as many are far from the GPUs as beside them.
  bool is_surplus() const {
    const auto far =
        std::count_if(fabric_->members.begin(), fabric_->members.end(),
                      [](const Candidate* one) { return !one->unlike.distance.empty(); });
    return near() >= 2 && far * 2 <= near();
  }

  // As a DGX has it: each of many GPUs has an HCA of its own beside it.
  bool has_one_each() const {
    return node_.pci.gpus.size() >= 4 && near() >= static_cast<long>(node_.pci.gpus.size());
  }

  std::size_t count_inside() const {
    std::size_t out = 0;
    for (const Group& group : groups_)
      for (const Candidate* one : group.members)
        out += one->membership == Membership::kCompute ? 1U : 0U;
    return out;
  }

  const facts::Node& node_;
  std::vector<Group> groups_;
  Group* fabric_ = nullptr;
  bool covered_ = false;  // each GPU has an HCA of the fabric beside it
  long not_whole_ = 0;    // rails that are slow or down
  std::optional<IpPrefix> plan_;
};

}  // namespace

void find_fabric(const facts::Node& node, Candidates& all) { Finder(node, all).find(); }

}  // namespace nnd::policy

#include "policy/pci_functions.h"

#include <algorithm>
#include <array>

namespace nnd::policy {

namespace {

using Meant = diagnosis::VirtualBesidePhysical::Meant;

// By an interface that is in this network namespace; InfiniBand by its LID.
bool addressed_here(const Candidate& one) {
  if (one.port->infiniband()) return one.port->lid != 0;
  const facts::Gid* gid = one.port->picked();
  return gid && gid->address && !gid->address->address.link_local();
}

Meant meant_of(const Candidate& physical, const Candidate& virtual_one) {
  const bool own = addressed_here(physical), other = addressed_here(virtual_one);
  return own == other ? Meant::kNotKnown : own ? Meant::kPhysical : Meant::kVirtual;
}

void add_once(Candidate& odd, std::vector<Candidate*>& to) {
  if (std::find(to.begin(), to.end(), &odd) == to.end()) to.push_back(&odd);
}

void add_name(const Candidate& one, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), one.hca->name) == names.end())
    names.push_back(one.hca->name);
}

}  // namespace

std::vector<PciFunctions> sets_of_functions(Candidates& all) {
  std::array<PciFunctions, 3> sets;
  for (Candidate& one : all) {
    if (one.out || !one.hca->is_virtual()) continue;
    for (Candidate& other : all) {
      if (other.out || other.hca->pci != one.hca->physfn) continue;
      const Meant meant = meant_of(other, one);
      PciFunctions& set = sets[static_cast<std::size_t>(meant)];
      set.seen.meant = meant;
      add_once(meant == Meant::kVirtual ? other : one, set.odd);
      add_name(one, set.seen.virtual_ones);
      add_name(other, set.seen.physical);
    }
  }
  std::vector<PciFunctions> out;
  for (PciFunctions& set : sets)
    if (!set.odd.empty()) out.push_back(std::move(set));
  return out;
}

}  // namespace nnd::policy

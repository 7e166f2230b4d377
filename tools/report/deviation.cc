#include "report/deviation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "report/failures.h"

namespace nnd::report {

namespace {

constexpr const char* kNone = "not set";

// What one attribute is at each process.
class Attribute {
 public:
  using ByValue = std::map<std::string, std::vector<std::size_t>, std::less<>>;

  // Processes come in order.
  void add(std::size_t member, std::string_view value, bool serious) {
    serious_ = serious;
    // The next process mostly has the value of the last one.
    if (last_ == nullptr || last_->first != value)
      last_ = &*by_value_.try_emplace(std::string(value)).first;
    auto& members = last_->second;
    if (members.empty() || members.back() != member) members.push_back(member);
  }
  // Processes that say nothing of it.
  void fill(const std::vector<std::size_t>& all, const char* value) {
    const auto there = holders();
    std::vector<std::size_t> rest;
    std::set_difference(all.begin(), all.end(), there.begin(), there.end(),
                        std::back_inserter(rest));
    auto& members = by_value_[value];
    members.insert(members.end(), rest.begin(), rest.end());
    std::sort(members.begin(), members.end());
    if (members.empty()) by_value_.erase(value);
  }
  std::set<std::size_t> holders() const {
    std::set<std::size_t> out;
    for (const auto& [value, members] : by_value_) out.insert(members.begin(), members.end());
    return out;
  }
  const ByValue& by_value() const { return by_value_; }
  bool serious() const { return serious_; }

 private:
  bool serious_ = false;
  ByValue by_value_;
  ByValue::value_type* last_ = nullptr;
};

using Attributes = std::map<std::string, Attribute>;

std::string or_none(const std::string& text) { return text.empty() ? kNone : text; }

template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

void add(Attributes& all, const std::string& name, std::size_t member, std::string_view value,
         bool serious) {
  all[name].add(member, value, serious);
}

// A process's own by nature.
bool is_private(const std::string& variable) {
  static const std::set<std::string> kPrivate{
      "NCCL_NET_DIAG_FILE", "NCCL_NET_DIAG_BLACKBOX", "NCCL_NET_DIAG_SYSFS", "NCCL_HOSTID",
      "NCCL_DEBUG_FILE",    "NCCL_TOPO_DUMP_FILE",    "NCCL_GRAPH_DUMP_FILE"};
  return kPrivate.contains(variable);
}

void add_facts(Attributes& all, std::size_t index, const log::Process& process) {
  static const std::map<std::string, std::pair<const char*, bool>> kNamed{
      {"kernel", {"kernel", false}},
      {"ofed", {"OFED", false}},
      {"rdma_core", {"rdma-core", false}},
      {"gpu_driver", {"GPU driver", false}},
      {"iommu", {"IOMMU", false}},
      {"gpus", {kGpuCount, true}},
      {"limits.memlock", {"limit on locked memory", true}},
      {"limits.nofile", {"limit on open files", false}},
      {"policy.mode", {"mode of the policy", false}},
      {"policy.file", {"policy file", false}}};
  for (const auto& [name, value] : process.facts) {
    if (const auto known = kNamed.find(name); known != kNamed.end())
      add(all, known->second.first, index, value, known->second.second);
    else if (name.starts_with("env.") && !is_private(name.substr(4)))
      add(all, name.substr(4), index, value,
          name.starts_with("env.NCCL_") && !name.starts_with("env.NCCL_DEBUG"));
  }
}

// Of each device, found once: nodes mostly have the same ones.
struct DeviceAttributes {
  Attribute *state, *gid_index, *gid_type, *subnet, *link_layer, *mtu, *speed, *pcie, *firmware,
      *gdr;
};

class Devices {
 public:
  explicit Devices(Attributes& all) : all_(all) {}

  const DeviceAttributes& of(const std::string& name) {
    const auto [found, is_new] = devices_.try_emplace(name);
    if (is_new) {
      const auto named = [&](const char* what) { return &all_[std::string(what) + " of " + name]; };
      found->second = {named("state"),         named("GID index"),  named("GID type"),
                       named("subnet"),        named("link layer"), named("MTU"),
                       named("Mbit/s"),        named("PCIe link"),  named("firmware"),
                       named("GPUDirect RDMA")};
    }
    return found->second;
  }

 private:
  Attributes& all_;
  std::unordered_map<std::string, DeviceAttributes> devices_;
};

void add_hcas(Attributes& all, Devices& devices, std::size_t index, const log::Process& process) {
  std::set<std::string> taken;
  for (const auto& hca : process.hcas) {
    if (hca.verdict == "taken") taken.insert(hca.dev.name);
    const auto& device = devices.of(hca.dev.name);
    device.state->add(index, hca.state.empty() ? "unreadable" : hca.state, true);
    device.gid_index->add(index, text_of(hca.dev.gid_index), true);
    if (!hca.gid_type.empty()) device.gid_type->add(index, hca.gid_type, true);
    if (!hca.dev.subnet.empty()) device.subnet->add(index, hca.dev.subnet, true);
    if (const auto gts = hca.facts.find("pcie.gts"), width = hca.facts.find("pcie.width");
        gts != hca.facts.end() && width != hca.facts.end())
      device.pcie->add(index, fmt::format("{} GT/s x{}", gts->second, width->second), true);
    device.link_layer->add(index, hca.dev.link_layer, true);
    device.mtu->add(index, text_of(hca.dev.mtu), true);
    device.speed->add(index, text_of(hca.dev.speed_mbps), true);
    if (const auto firmware = hca.facts.find("firmware"); firmware != hca.facts.end())
      device.firmware->add(index, firmware->second, false);
    if (const auto way = process.gdr.find(hca.dev.name); way != process.gdr.end())
      device.gdr->add(index, way->second, true);
  }
  // HCAs are told before NCCL makes a communicator: a log that is cut off before may lack some.
  const bool all_told = process.last_event != nccl_net_diag::event_name(log::EventId::kHcaPort) &&
                        (!process.cut_off || !process.communicators.empty());
  if (!process.hcas.empty() && all_told)
    add(all, "HCAs in use", index, or_none(fmt::format("{}", fmt::join(taken, ","))), true);
}

// Where each node has subnets of its own, it is not meant to be the same: only where some HCA's are
// the same everywhere, or every node has all of them.
void drop_planned_subnets(const Picture& picture, Attributes& all) {
  std::map<std::string, std::set<std::string>> by_host;
  bool any_same = false;
  for (const auto& [name, attribute] : all)
    if (name.starts_with("subnet of ")) {
      any_same = any_same || (attribute.by_value().size() == 1 && attribute.holders().size() > 1);
      for (const auto& [subnet, members] : attribute.by_value())
        for (const auto member : members) by_host[picture.members[member].log->host].insert(subnet);
    }
  const bool all_have_all = std::all_of(by_host.begin(), by_host.end(), [&](const auto& one) {
    return one.second == by_host.begin()->second;
  });
  if (!any_same && !all_have_all)
    std::erase_if(all, [](const auto& one) { return one.first.starts_with("subnet of "); });
}

Attributes attributes_of(const Picture& picture, bool with_planned) {
  Attributes all;
  Devices devices(all);
  std::vector<std::size_t> with_environment;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& process = *picture.members[i].log;
    if (process.loaded) {
      add(all, "NCCL", i, process.nccl_version, true);
      add(all, "nccl-net-diag", i, process.version, false);
      add(all, "transport", i, is_on_tcp(process) ? "TCP" : or_none(process.wraps.name), true);
    }
    if (process.facts.contains("env_hash")) with_environment.push_back(i);
    add_facts(all, i, process);
    add_hcas(all, devices, i, process);
  }
  if (!with_planned) drop_planned_subnets(picture, all);
  // A variable that a process hasn't is a value too, where its facts are known.
  for (auto& [name, attribute] : all)
    if (name.starts_with("NCCL_") || name.starts_with("UCX_"))
      attribute.fill(with_environment, kNone);
  return all;
}

std::vector<std::string> names_of(const Picture& picture, const std::vector<std::size_t>& members,
                                  const std::set<std::size_t>& all_holders) {
  std::set<std::size_t> some(members.begin(), members.end());
  std::vector<std::string> out;
  for (const auto& host : picture.hosts) {
    std::vector<std::size_t> here;
    bool whole = true;
    for (const auto member : host.members)
      if (some.contains(member))
        here.push_back(member);
      else if (all_holders.contains(member))
        whole = false;
    if (here.empty()) continue;
    if (whole) {
      out.push_back(host.name);
      continue;
    }
    for (const auto member : here)
      out.push_back(picture.members[member].rank
                        ? fmt::format("rank {} ({})", *picture.members[member].rank, host.name)
                        : fmt::format("{} pid {}", host.name, picture.members[member].log->pid));
  }
  return out;
}

// The one value at which the HCA has an address; the end where there is none, or several.
Attribute::ByValue::const_iterator with_address(const Picture& picture, const std::string& hca,
                                                const Attribute::ByValue& by_value) {
  const auto has_address = [&](std::size_t member) {
    const auto& hcas = picture.members[member].log->hcas;
    return std::any_of(hcas.begin(), hcas.end(), [&](const log::Hca& one) {
      return one.dev.name == hca && !one.dev.gid.empty();
    });
  };
  auto out = by_value.end();
  for (auto value = by_value.begin(); value != by_value.end(); ++value) {
    if (std::none_of(value->second.begin(), value->second.end(), has_address)) continue;
    if (out != by_value.end()) return by_value.end();
    out = value;
  }
  return out;
}

// A port that is up is never the odd one, however many are not, nor an index at which there is an
// address, nor who is on InfiniBand where NCCL found no HCA for the others.
Attribute::ByValue::const_iterator sound_one(const Picture& picture, const std::string& name,
                                             const Attribute::ByValue& by_value) {
  if (name.starts_with("state of ")) return by_value.find("ACTIVE");
  constexpr std::string_view kIndexOf = "GID index of ";
  if (name.starts_with(kIndexOf))
    return with_address(picture, name.substr(kIndexOf.size()), by_value);
  const auto tcp = name == "transport" ? by_value.find("TCP") : by_value.end();
  if (tcp == by_value.end()) return tcp;
  const bool fell_back = std::all_of(tcp->second.begin(), tcp->second.end(), [&](std::size_t one) {
    const auto& told = picture.members[one].log->diagnoses;
    return std::any_of(told.begin(), told.end(), is_fallback);
  });
  return fell_back ? by_value.find("IB") : by_value.end();
}

std::optional<Deviation> deviation_of(const Picture& picture, const std::string& name,
                                      const Attribute& attribute) {
  const auto& by_value = attribute.by_value();
  if (by_value.size() < 2) return std::nullopt;
  const auto holders = attribute.holders();
  // Where each has its own, it is not meant to be the same.
  if (by_value.size() > 2 && by_value.size() * 2 > holders.size()) return std::nullopt;
  const auto sound = sound_one(picture, name, by_value);
  const auto most =
      sound != by_value.end()
          ? sound
          : std::max_element(by_value.begin(), by_value.end(), [](const auto& a, const auto& b) {
              return a.second.size() < b.second.size();
            });
  Deviation out;
  out.what = name;
  out.serious = attribute.serious();
  const bool majority = sound != by_value.end() || most->second.size() * 3 >= holders.size() * 2;
  // With neither a majority nor two camps it is a mixture, and nobody's fault.
  if (!majority && by_value.size() > 2) return std::nullopt;
  if (majority) {
    out.usual = most->first;
    out.usual_count = most->second.size();
  }
  for (const auto& [value, members] : by_value)
    if (!majority || value != most->first)
      out.others.push_back({value, names_of(picture, members, holders), members});
  return out;
}

// "GID index of mlx5_0" to mlx5_7, the same on the same host, is one thing.
void fold_devices(std::vector<Deviation>& all) {
  std::vector<Deviation> out;
  std::map<std::string, std::size_t> folded;  // by what is the same of them
  std::map<std::size_t, std::size_t> devices;
  for (auto& odd : all) {
    const auto of = odd.what.find(" of ");
    if (of == std::string::npos || odd.others.size() != 1) {
      out.push_back(std::move(odd));
      continue;
    }
    const auto key = fmt::format("{}|{}|{}|{}", odd.what.substr(0, of), odd.usual,
                                 odd.others[0].value, fmt::join(odd.others[0].who, ","));
    const auto [found, is_new] = folded.emplace(key, out.size());
    ++devices[found->second];
    if (is_new) out.push_back(std::move(odd));
  }
  for (const auto& [at, count] : devices)
    if (count > 1) out[at].what += fmt::format(" and {} more", count - 1);
  all = std::move(out);
}

// with_planned: also subnets where each node has its own.
std::vector<Deviation> all_deviations(const Picture& picture, bool with_planned) {
  std::vector<Deviation> out;
  if (picture.members.size() < 2) return out;
  for (const auto& [name, attribute] : attributes_of(picture, with_planned))
    if (auto odd = deviation_of(picture, name, attribute)) out.push_back(std::move(*odd));
  std::stable_sort(out.begin(), out.end(),
                   [](const Deviation& a, const Deviation& b) { return a.serious > b.serious; });
  return out;
}

}  // namespace

std::vector<Deviation> deviations(const Picture& picture) {
  auto out = all_deviations(picture, false);
  fold_devices(out);
  return out;
}

std::vector<Deviation> deviations_of_each(const Picture& picture) {
  return all_deviations(picture, true);
}

}  // namespace nnd::report

#include "report/odd.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace nnd::report {

namespace {

constexpr const char* kNone = "not set";

// What one attribute is at each holder: a host, or a process where those of a host differ.
struct Attribute {
  bool serious = false;
  bool individual = false;                    // of processes: each may have its own
  std::map<std::size_t, std::string> values;  // by member
};

using Attributes = std::map<std::string, Attribute>;

std::string or_none(const std::string& text) { return text.empty() ? kNone : text; }

template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

void add(Attributes& all, const std::string& name, std::size_t member, std::string value,
         bool serious) {
  Attribute& attribute = all[name];
  attribute.serious = serious;
  attribute.values[member] = std::move(value);
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

void add_hcas(Attributes& all, std::size_t index, const log::Process& process) {
  std::set<std::string> taken;
  for (const auto& hca : process.hcas) {
    const auto& name = hca.dev.name;
    if (hca.verdict == "taken") taken.insert(name);
    const auto of = [&](const char* what) { return std::string(what) + " of " + name; };
    add(all, of("state"), index, hca.state, true);
    add(all, of("GID index"), index, text_of(hca.dev.gid_index), true);
    add(all, of("link layer"), index, hca.dev.link_layer, true);
    add(all, of("MTU"), index, text_of(hca.dev.mtu), true);
    add(all, of("Mbit/s"), index, text_of(hca.dev.speed_mbps), true);
    if (const auto firmware = hca.facts.find("firmware"); firmware != hca.facts.end())
      add(all, of("firmware"), index, firmware->second, false);
    if (const auto way = process.gdr.find(name); way != process.gdr.end())
      add(all, of("GPUDirect RDMA"), index, way->second, true);
  }
  if (!process.hcas.empty())
    add(all, "HCAs in use", index, or_none(fmt::format("{}", fmt::join(taken, ","))), true);
}

Attributes attributes_of(const Picture& picture) {
  Attributes all;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& process = *picture.members[i].log;
    if (process.loaded) {
      add(all, "NCCL", i, process.nccl_version, true);
      add(all, "nccl-net-diag", i, process.version, false);
      add(all, "transport", i, or_none(process.wraps.name), true);
    }
    add_facts(all, i, process);
    add_hcas(all, i, process);
  }
  // A variable that a process hasn't is a value too, where its facts are known.
  for (auto& [name, attribute] : all)
    for (std::size_t i = 0; i < picture.members.size(); ++i)
      if (!attribute.values.contains(i) && picture.members[i].log->facts.contains("env_hash") &&
          (name.starts_with("NCCL_") || name.starts_with("UCX_")))
        attribute.values[i] = kNone;
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

std::optional<Odd> odd_of(const Picture& picture, const std::string& name,
                          const Attribute& attribute) {
  std::map<std::string, std::vector<std::size_t>> by_value;
  std::set<std::size_t> holders;
  for (const auto& [member, value] : attribute.values) {
    by_value[value].push_back(member);
    holders.insert(member);
  }
  // Where each has its own, it is not meant to be the same.
  if (by_value.size() < 2 || (by_value.size() > 2 && by_value.size() * 2 > holders.size()))
    return std::nullopt;
  const auto most = std::max_element(
      by_value.begin(), by_value.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  Odd out;
  out.what = name;
  out.serious = attribute.serious;
  const bool majority = most->second.size() * 3 >= holders.size() * 2;
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
void fold_devices(std::vector<Odd>& all) {
  std::vector<Odd> out;
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

}  // namespace

std::vector<Odd> odd_ones(const Picture& picture) {
  std::vector<Odd> out;
  if (picture.members.size() < 2) return out;
  for (const auto& [name, attribute] : attributes_of(picture))
    if (auto odd = odd_of(picture, name, attribute)) out.push_back(std::move(*odd));
  fold_devices(out);
  std::stable_sort(out.begin(), out.end(),
                   [](const Odd& a, const Odd& b) { return a.serious > b.serious; });
  return out;
}

}  // namespace nnd::report

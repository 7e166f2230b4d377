#include "cli/check/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "cli/check/carried.h"
#include "diagnosis/own.h"
#include "nccl_abi/releases.h"
#include "policy/judge.h"

namespace nnd::cli {

namespace {

using facts::Hca;
using facts::Port;
using facts::PortChoice;
using nlohmann::json;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

json limit_or_null(std::uint64_t value) {  // null: unlimited
  return value == std::numeric_limits<std::uint64_t>::max() ? json() : json(value);
}

const char* basis_text(facts::PickBasis basis) {
  switch (basis) {
    case facts::PickBasis::kForced:
      return "forced";
    case facts::PickBasis::kFixedDefault:
      return "fixed_default";
    case facts::PickBasis::kQualified:
      return "qualified";
    case facts::PickBasis::kOtherVersion:
      return "other_version";
    case facts::PickBasis::kFallback:
      return "fallback";
    case facts::PickBasis::kInfiniband:
      return "infiniband";
    case facts::PickBasis::kRoutableFlid:
      return "routable_flid";
    case facts::PickBasis::kNone:
      break;
  }
  return "none";
}

const char* uverbs_text(facts::UverbsState state) {
  switch (state) {
    case facts::UverbsState::kUsable:
      return "usable";
    case facts::UverbsState::kMissing:
      return "missing";
    case facts::UverbsState::kDenied:
      return "denied";
    case facts::UverbsState::kNotExamined:
      break;
  }
  return "not examined";
}

json gid_json(const Port& port) {
  if (port.pick.index < 0) return {{"index", json()}, {"why", port.pick.why}};
  json out = {{"index", port.pick.index},
              {"basis", basis_text(port.pick.basis)},
              {"why", port.pick.why},
              {"certain", port.pick.certain},
              {"gid", json()}};
  if (const facts::Gid* gid = port.picked()) {
    out["gid"] = gid->text();
    out["type"] = facts::gid_type_text(gid->type);
    out["netdev"] = text_or_null(gid->netdev);
    out["subnet"] = text_or_null(gid->subnet());
  }
  return out;
}

json hca_json(const Hca& hca) {
  json out = {
      {"name", hca.name},
      {"port", json()},
      {"netdev", text_or_null(hca.netdev)},
      {"bond", text_or_null(hca.bond)},
      {"bond_trouble", text_or_null(hca.bond_trouble())},  // worded in facts/node.cc
      {"pci", text_or_null(hca.pci)},
      {"vf_of", text_or_null(hca.physfn)},
      {"numa", hca.numa < 0 ? json() : json(hca.numa)},
      {"firmware", text_or_null(hca.firmware)},
      {"gpus",
       {{"distance", facts::pci_distance_text(hca.gpu_distance)}, {"nearest", hca.near_gpus}}},
      {"uverbs", {{"name", hca.uverbs_name}, {"node", uverbs_text(hca.uverbs)}}},
      {"gdr",
       {{"way", facts::gdr_way_text(hca.gdr.way)},
        {"why", hca.gdr.why},
        {"peermem", hca.gdr.peermem},
        {"dmabuf", hca.gdr.dmabuf ? json(*hca.gdr.dmabuf) : json()}}}};
  if (hca.pcie.current_gts > 0 || hca.pcie.current_width > 0)
    out["pcie"] = {{"gts", hca.pcie.current_gts},
                   {"max_gts", hca.pcie.max_gts},
                   {"width", hca.pcie.current_width},
                   {"max_width", hca.pcie.max_width}};
  if (const double gbit = slot_gbit(hca); gbit > 0) out["pcie"]["gbit_per_sec"] = gbit;
  return out;
}

void add_port(const Port& port, json& out) {
  out["port"] = port.number;
  out["state"] = facts::port_state_text(port.state);
  out["phys_state"] = facts::phys_state_text(port.phys_state);
  out["link_layer"] = facts::link_layer_text(port.link_layer);
  out["speed_mbps"] = port.speed_mbps;
  out["width"] = port.width;
  out["mtu"] = port.active_mtu;
  out["gids"] = port.gids.size();
  out["gid_table"] = port.gid_table_length;
  out["gid_types_unreadable"] =
      std::count_if(port.gids.begin(), port.gids.end(),
                    [](const facts::Gid& gid) { return gid.type_error != 0; });
  out["pick"] = gid_json(port);
  if (port.infiniband()) out["lid"] = port.lid;
}

}  // namespace

json hcas_json(const Checked& checked) {
  json out = json::array();
  for (const Hca& hca : checked.node.hcas) {
    if (hca.ports.empty()) {
      json one = hca_json(hca);
      one["verdict"] = "skipped";
      one["reasons"] = {fmt::format("ibv_open_device: {}", std::strerror(hca.open_errno))};
      out.push_back(std::move(one));
    }
    for (const Port& port : hca.ports) {
      json one = hca_json(hca);
      add_port(port, one);
      const bool refused = checked.judgement.refuses(hca.name, port.number);
      one["verdict"] = refused                             ? "refused"
                       : port.choice == PortChoice::kTaken ? "taken"
                                                           : "skipped";
      one["reasons"] = port.reasons;
      one["rules"] = json::array();
      for (const policy::Verdict& verdict : checked.judgement.verdicts)
        if (verdict.about(hca.name, port.number)) one["rules"].push_back(verdict.rule);
      out.push_back(std::move(one));
    }
  }
  return out;
}

json gpudirect_json(const facts::Node& node) {
  const facts::PeerMemory& peer = node.peer_memory;
  const facts::System& system = node.system;
  return {{"nv_mem", peer.nv_mem},
          {"nv_mem_nc", peer.nv_mem_nc},
          {"nvidia_peermem", peer.nvidia_peermem},
          {"half_loaded", peer.half_loaded},
          {"gpu_driver", text_or_null(system.gpu_driver)},
          {"gpu_driver_loaded", system.gpu_driver_loaded},
          {"gpu_driver_open", system.gpu_driver_open ? json(*system.gpu_driver_open) : json()},
          {"iommu", text_or_null(system.iommu)}};
}

json limits_json(const Checked& checked) {
  const facts::System& system = checked.node.system;
  const facts::Limits& limits = system.limits;
  return {
      {"memlock", limit_or_null(limits.memlock_soft)},
      {"nofile", limit_or_null(limits.nofile_soft)},
      {"cap_ipc_lock", limits.cap_ipc_lock},
      // Where sysfs is not the machine's own, /dev is not its twin.
      {"dev_infiniband", checked.settings.sysfs == "/sys" ? json(system.dev_infiniband) : json()}};
}

json gpus_json(const std::vector<facts::PciFunction>& gpus) {
  json out = json::array();
  for (const facts::PciFunction& gpu : gpus)
    out.push_back({{"pci", gpu.address},
                   {"index", gpu.index < 0 ? json() : json(gpu.index)},
                   {"uuid", text_or_null(gpu.uuid)}});
  return out;
}

json system_json(const facts::Node& node) {
  const facts::System& system = node.system;
  return {{"kernel", system.kernel},
          {"rdma_core", text_or_null(system.rdma_core)},
          {"ofed", text_or_null(system.ofed)},
          {"topology_file", text_or_null(system.topology_file)},
          {"container", system.container},
          {"gpus", node.pci.gpus.size()},
          {"gpu_list", gpus_json(node.pci.gpus)},
          {"rdma_pci_functions", node.pci.rdma},
          {"network_problem", text_or_null(node.network.error)},
          {"oob",
           {{"netdev", text_or_null(node.oob.netdev)},
            {"address", text_or_null(node.oob.address)},
            {"why", node.oob.why}}}};
}

json variables_json(const facts::System& system) {
  json out = json::object();
  for (const auto& [name, value] : system.environment) out[name] = value;
  return out;
}

json verdicts_json(const std::vector<policy::Verdict>& verdicts) {
  static constexpr const char* kDecisions[] = {"info", "warn", "refuse"};
  json out = json::array();
  for (const policy::Verdict& verdict : verdicts)
    out.push_back({{"rule", verdict.rule},
                   {"cause", nccl_net_diag::cause_id(verdict.diagnosis.cause)},
                   {"device", text_or_null(verdict.device)},
                   {"port", verdict.port == 0 ? json() : json(verdict.port)},
                   {"also", verdict.also},
                   {"fact", verdict.diagnosis.sentence},
                   {"remedy", verdict.diagnosis.remedy},
                   {"action", policy::action_text(verdict.action)},
                   {"decision", kDecisions[static_cast<std::size_t>(verdict.decision)]},
                   {"remaining", verdict.remaining}});
  return out;
}

json lint_json(const Checked& checked) {
  json out = json::array();
  for (const config::Complaint& one : checked.settings.complaints) {
    const diagnosis::Diagnosis wrong =
        diagnose(diagnosis::WrongVariable{one.variable, one.value, one.problem, one.nearest});
    out.push_back({{"variable", one.variable},
                   {"value", one.value},
                   {"cause", nccl_net_diag::cause_id(wrong.cause)},
                   {"msg", fmt::format("It {}.", one.problem)},
                   {"fix", wrong.remedy}});
  }
  for (const policy::Lint& one : checked.lint)
    out.push_back({{"variable", one.variable},
                   {"value", one.value},
                   {"cause", nccl_net_diag::cause_id(one.diagnosis.cause)},
                   {"msg", one.diagnosis.sentence},
                   {"fix", one.diagnosis.remedy}});
  return out;
}

// Ready to be pasted into a job's script.
json proposal_json(const Checked& checked) {
  json out = json::array({"export NCCL_NET_PLUGIN=diag"});
  const int version = checked.node.nccl_version;
  if (version == 0 || nccl_abi::kForgetsPlugin.has(version))
    out.push_back("export NCCL_NET_PLUGIN_REF_COUNT=1");
  // Not where the user's own list is in doubt: who knows what was meant.
  const bool own_in_doubt =
      std::any_of(checked.lint.begin(), checked.lint.end(), [](const policy::Lint& lint) {
        return lint.diagnosis.cause == nccl_net_diag::Cause::kDevPrefix;
      });
  const policy::Judgement& judgement = checked.judgement;
  if (judgement.remaining.empty() || own_in_doubt) return out;
  if (judgement.doubtful.empty())
    out.push_back("export " + policy::hca_setting(checked.node, judgement.meant));
  else
    out.push_back(fmt::format("# no NCCL_IB_HCA: whether {} {} meant can't be told from here",
                              fmt::join(judgement.doubtful, ", "),
                              judgement.doubtful.size() == 1 ? "is" : "are"));
  return out;
}

}  // namespace nnd::cli

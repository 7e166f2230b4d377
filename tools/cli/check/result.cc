#include "cli/check/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "cli/check/carried.h"
#include "cli/check/json.h"
#include "cli/common/exit_code.h"
#include "cli/common/printable.h"
#include "diagnosis/node.h"
#include "diagnosis/own.h"
#include "inner/nccl.h"
#include "policy/judge.h"

namespace nnd::cli {

namespace {

using nlohmann::json;
using policy::Decision;
using policy::Verdict;

struct Tally {
  std::size_t refused = 0;
  std::size_t warnings = 0;
  std::size_t taken = 0;              // ports that NCCL would take, refused ones included
  std::size_t not_shown = 0;          // of these, those that are refused
  std::set<std::string> usable_hcas;  // when every denial is enforced
};

// Settings of the shim's with which a job does something else than what is judged here.
std::vector<std::string> switched(const config::Settings& settings) {
  std::vector<std::string> out;
  if (settings.disable)
    out.emplace_back("NCCL_NET_DIAG_DISABLE=1: a job logs nothing, and nothing is refused.");
  if (settings.inner == "Socket")
    out.emplace_back("NCCL_NET_DIAG_INNER=Socket: a job goes over TCP and leaves the HCAs alone.");
  return out;
}

std::string warning_of_root(const Checked& checked) {
  return checked.root ? root_warning(*checked.root, checked.node.oob) : std::string();
}

bool denies_tcp(const Checked& checked) {
  return checked.settings.inner == "Socket" && checked.judgement.mode == policy::Mode::kEnforce &&
         checked.policy.policy.fallback.socket == policy::Action::kDeny;
}

Tally count(const Checked& checked) {
  Tally out;
  for (const Verdict& verdict : checked.judgement.verdicts) {
    if (verdict.decision == Decision::kRefuse) ++out.refused;
    if (verdict.decision == Decision::kWarn) ++out.warnings;
  }
  if (checked.judgement.mode != policy::Mode::kObserve)
    out.warnings += checked.lint.size() + checked.settings.complaints.size() +
                    (checked.inside ? troubles_of(*checked.inside, checked.node).size() : 0);
  out.warnings += switched(checked.settings).size();
  if (!warning_of_root(checked).empty()) ++out.warnings;
  for (const facts::Hca& hca : checked.node.hcas)
    for (const facts::Port& port : hca.ports)
      if (port.choice == facts::PortChoice::kTaken) {
        ++out.taken;
        if (checked.judgement.refuses(hca.name, port.number)) ++out.not_shown;
      }
  for (const std::string& port : checked.judgement.remaining)
    out.usable_hcas.insert(port.substr(0, port.rfind(':')));
  return out;
}

// What fails a job, or the caller's demand, whatever the mode.
std::vector<std::string> broken(const Checked& checked, const CheckDemands& demands,
                                const Tally& tally) {
  std::vector<std::string> out;
  const facts::Node& node = checked.node;
  const bool refuses = !checked.settings.disable;
  if (refuses && checked.judgement.network_refused)
    out.push_back(checked.judgement.network_refused->diagnosis.sentence);
  if (refuses && denies_tcp(checked)) out.push_back(diagnose(diagnosis::TcpWrapped{}).sentence);
  if (facts::expects_rdma(node) && tally.taken == 0 && !node.rdma_unwanted)
    out.push_back("RDMA hardware is here, and NCCL can use none of it.");
  for (const facts::Hca& hca : node.hcas)
    if (const auto crash = facts::crash_of(node, hca)) out.push_back(diagnose(*crash).sentence);
  if (out.empty() && tally.taken != 0)
    if (std::string trouble = transport_trouble(node); !trouble.empty())
      out.push_back(std::move(trouble));
  if (checked.root)
    if (std::string trouble = root_trouble(*checked.root); !trouble.empty())
      out.push_back(std::move(trouble));
  if (demands.expect_hcas && tally.usable_hcas.size() < *demands.expect_hcas)
    out.push_back(fmt::format("{} of {} expected HCAs {} usable.", tally.usable_hcas.size(),
                              *demands.expect_hcas, tally.usable_hcas.size() == 1 ? "is" : "are"));
  return out;
}

std::string sentence(const Checked& checked, const Tally& tally) {
  const facts::Node& node = checked.node;
  if (node.hcas.empty() && node.sysfs_hcas.empty() && node.pci.rdma == 0)
    return "There is no RDMA here: NCCL will use TCP.";
  if (node.rdma_unwanted) return "The environment asks NCCL not to use RDMA.";
  if (!facts::expects_rdma(node))
    return node.hcas.empty() ? "There is no RDMA device here, and no GPU that would need one."
                             : diagnose(diagnosis::OtherKindOnly{node.hcas.size()}).sentence;
  const std::size_t refused = checked.settings.disable ? 0 : tally.not_shown;
  const std::size_t used = tally.taken - refused;
  std::string out = fmt::format("NCCL will use {} HCA port{}", used, used == 1 ? "" : "s");
  if (refused != 0) out += fmt::format(", {} refused", refused);
  const std::size_t denied = tally.taken - checked.judgement.remaining.size();
  if (refused == 0 && denied != 0)
    out += fmt::format("; in enforce mode {} would be refused", denied);
  return out + ".";
}

json summary(const Checked& checked, const CheckDemands& demands) {
  const Tally tally = count(checked);
  const auto faults = broken(checked, demands, tally);
  return {{"broken", faults},
          {"refused", tally.refused},
          {"warnings", tally.warnings},
          {"usable_hcas", tally.usable_hcas.size()},
          {"expected_hcas", demands.expect_hcas ? json(*demands.expect_hcas) : json()}};
}

// What is wrong, or else what NCCL will do; and whether there is more to read.
std::string verdict(const Checked& checked, const CheckDemands& demands) {
  const Tally tally = count(checked);
  const auto faults = broken(checked, demands, tally);
  std::string out = fmt::format(
      "{}: {}", checked.host,
      faults.empty() ? sentence(checked, tally) : fmt::format("{}", fmt::join(faults, " ")));
  for (const auto& one : switched(checked.settings)) out += " " + one;
  if (const auto warning = warning_of_root(checked); !warning.empty()) out += " " + warning;
  if (tally.warnings != 0)
    out += fmt::format(" {} warning{}.", tally.warnings, tally.warnings == 1 ? "" : "s");
  return out;
}

json verbs_json(const verbs::Survey& survey) {
  return {{"library", survey.library.empty() ? json() : json(survey.library)},
          {"problem", survey.problem.empty() ? json() : json(survey.problem)},
          {"list_error", survey.list_errno == 0 ? json() : json(std::strerror(survey.list_errno))}};
}

json policy_json(const Checked& checked) {
  return {{"source", checked.policy.policy.source},
          {"mode", policy::mode_text(checked.judgement.mode)}};
}

json carried_json(const Checked& checked) {
  const auto& ports = checked.judgement.remaining;
  const Carried carried = carried_by(checked.node, {ports.begin(), ports.end()});
  if (carried.gbit <= 0) return {};
  json slots = json::array();
  for (const SlotLimit& one : carried.slots)
    slots.push_back({{"hcas", one.hcas},
                     {"gts", one.gts},
                     {"width", one.width},
                     {"slot_gbit_per_sec", one.slot_gbit},
                     {"ports_gbit_per_sec", one.ports_gbit}});
  json shared = json::array();
  for (const SharedPorts& one : carried.shared)
    shared.push_back({{"gpus", one.gpus}, {"ports", one.ports}});
  return {{"ports", carried.ports},
          {"gpus", carried.gpus},
          {"gbit_per_sec", carried.gbit},
          {"gb_per_sec", carried.gbit / 8},
          {"slots", slots},
          {"shared", shared},
          {"through_host", carried.through_host},
          {"text", carried_lines(carried)}};
}

// Variables, policies and drivers may hold anything.
void make_printable(json& value) {
  if (value.is_string()) value = printable(value.get<std::string>());
  if (value.is_structured())
    for (json& member : value) make_printable(member);
}

}  // namespace

nlohmann::json check_result(const Checked& checked, const CheckDemands& demands) {
  const int version = checked.node.nccl_version;
  return {{"host", checked.host},
          {"nccl", version == 0 ? json() : json(inner::version_text(version))},
          {"policy", policy_json(checked)},
          {"verbs", verbs_json(checked.survey)},
          {"hcas", hcas_json(checked)},
          {"carried", carried_json(checked)},
          {"transport", transport_json(checked.node)},
          {"gpudirect", gpudirect_json(checked.node)},
          {"limits", limits_json(checked)},
          {"system", system_json(checked.node)},
          {"variables", variables_json(checked.node.system)},
          {"verdicts", verdicts_json(checked.judgement.verdicts)},
          {"lint", lint_json(checked)},
          {"inside", inside_json(checked.inside, checked.node)},
          {"root", root_json(checked.root)},
          {"proposal", proposal_json(checked)},
          {"result", summary(checked, demands)},
          {"took_ms", checked.took_ms}};
}

Answer check_answer(const Checked& checked, const CheckDemands& demands) {
  Answer out;
  out.body = check_result(checked, demands);
  out.verdict = verdict(checked, demands);
  const json& result = out.body["result"];
  const bool refused = result["refused"] != 0, warned = result["warnings"] != 0;
  if (!result["broken"].empty() || (demands.fail_on != FailOn::kBrokenOnly && refused) ||
      (demands.fail_on == FailOn::kWarn && warned))
    out.exit_code = kBroken;
  out.warned = warned || refused;
  json shown = out.body;
  make_printable(shown);
  out.verdict = printable(out.verdict);
  out.page = [shown](const Screen& screen) { return check_page(shown, screen); };
  out.brief = [shown] { return check_lines(shown); };
  return out;
}

}  // namespace nnd::cli

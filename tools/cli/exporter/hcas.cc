#include "cli/exporter/hcas.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/check/examine.h"
#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/output.h"
#include "config/settings.h"
#include "context/clock.h"
#include "facts/counters.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

constexpr std::uint64_t kSec = 1'000'000'000;
constexpr std::uint64_t kExamineNs = 60 * kSec, kCountNs = 30 * kSec;

const char* verdict_of(const Checked& checked, const facts::Hca& hca, const facts::Port& port) {
  if (checked.judgement.refuses(hca.name, port.number)) return "refused";
  return port.choice == facts::PortChoice::kTaken ? "taken" : "skipped";
}

}  // namespace

void Hcas::examine() {
  Checked checked;
  CheckInput input;
  input.host = host_name();
  try {
    checked = cli::examine(input);
    readable_ = true;
  } catch (const CallError& error) {
    if (readable_)
      print_err(
          fmt::format("the HCAs are left out, since they can't be judged: {}\n", error.what()));
    readable_ = false;
  }
  findings_.clear();
  for (const policy::Verdict& verdict : checked.judgement.verdicts) {
    if (verdict.decision == policy::Decision::kInfo) continue;
    const std::string cause(nccl_net_diag::cause_id(verdict.diagnosis.cause));
    findings_.insert(
        {verdict.device, verdict.port == 0 ? "" : std::to_string(verdict.port), cause});
    for (const std::string& place : verdict.also) {
      const auto colon = place.rfind(':');
      findings_.insert({place.substr(0, colon), place.substr(colon + 1), cause});
    }
  }
  ports_.clear();
  for (const facts::Hca& hca : checked.node.hcas)
    for (const facts::Port& port : hca.ports) {
      Port one;
      one.device = hca.name;
      one.netdev = hca.netdev;
      one.number = port.number;
      one.link_layer = facts::link_layer_text(port.link_layer);
      one.verdict = verdict_of(checked, hca, port);
      one.gid_index = port.pick.index;
      if (const auto* const gid = port.picked()) one.subnet = gid->subnet();
      constexpr double kBytesPerMbit = 1e6 / 8;
      one.bytes_per_sec = static_cast<double>(port.speed_mbps) * kBytesPerMbit;
      ports_.push_back(std::move(one));
    }
  facts::watch_counters(checked.settings.sysfs);
}

void Hcas::look(const std::vector<PortOf>& in_use) {
  const std::uint64_t now = context::mono_ns();
  if (examined_ns_ == 0 || now - examined_ns_ >= kExamineNs) {
    examined_ns_ = now;
    examine();
  }
  bool is_new = false;
  const auto counted = facts::counted_ports();
  for (const Port& one : ports_) {
    const facts::PortName name(one.device, one.number);
    if (std::find(in_use.begin(), in_use.end(), PortOf{one.device, std::to_string(one.number)}) ==
            in_use.end() ||
        std::find(counted.begin(), counted.end(), name) != counted.end())
      continue;
    facts::count_port(one.device, one.number);
    is_new = true;
  }
  if (!is_new && now - counted_ns_ < kCountNs) return;
  counted_ns_ = now;
  facts::sample_counters();
}

Families Hcas::families() const {
  Family info{
      "nccl_net_diag_hca", MetricType::kInfo,
      "A port of an HCA, the GID index that NCCL picks, and whether NCCL takes it, skips it "
      "or the policy refuses it."};
  Family speed{"nccl_net_diag_hca_speed_bytes_per_second", MetricType::kGauge,
               "What the port's link carries at most."};
  Family findings{
      "nccl_net_diag_hca_finding", MetricType::kGauge,
      "1: what `nccl-net-diag check` warns of or refuses, by port, or of the node where "
      "there is no device: docs/causes.md says what each cause means."};
  for (const Finding& one : findings_)
    findings.samples.push_back(
        {{{"device", one.device}, {"port", one.port}, {"cause", one.cause}}, 1});
  Family counters{"nccl_net_diag_port_counter", MetricType::kCounter,
                  "What the driver counts of a port that carries connections, by the driver's own "
                  "names: packets, retransmissions, drops, congestion, link errors."};
  for (const Port& one : ports_) {
    const Labels port{{"device", one.device}, {"port", std::to_string(one.number)}};
    Labels all = port;
    all.insert(all.end(), {{"netdev", one.netdev},
                           {"link_layer", one.link_layer},
                           {"subnet", one.subnet},
                           {"gid_index", one.gid_index < 0 ? "" : std::to_string(one.gid_index)},
                           {"verdict", one.verdict}});
    info.samples.push_back({std::move(all), 1});
    speed.samples.push_back({port, one.bytes_per_sec});
    for (const auto& [name, value] : facts::last_values(one.device, one.number)) {
      if (facts::kind_of_counter(name) == facts::Counter::kOther) continue;
      Labels labels = port;
      labels.emplace_back("counter", name);
      counters.samples.push_back({std::move(labels), static_cast<double>(value)});
    }
  }
  return {std::move(info), std::move(speed), std::move(findings), std::move(counters)};
}

}  // namespace nnd::cli

#include "cli/preflight/node.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/common/checked_json.h"
#include "cli/common/export_line.h"
#include "cli/common/printable.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

// The first half of InfiniBand's GID, as a subnet: "fe80::/64". Empty: it is none.
std::string prefix_of(const std::string& gid) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (inet_pton(AF_INET6, gid.c_str(), bytes.data()) != 1) return {};
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return fmt::format("{}/64", text.data());
}

log::Hca hca_from(const Fields& fields) {
  log::Hca out;
  out.dev.name = fields.text("name");
  out.dev.port = fields.number_if<int>("port");
  out.dev.netdev = fields.text_or_empty("netdev");
  out.dev.link_layer = fields.text_or_empty("link_layer");
  out.dev.mtu = fields.number_if<int>("mtu");
  out.dev.speed_mbps = fields.number_if<std::int64_t>("speed_mbps");
  out.dev.pci = fields.text_or_empty("pci");
  out.state = fields.text_or_empty("state");
  const auto link = fields.text_or_empty("phys_state");
  if (out.state == "ACTIVE" && !link.empty() && link != "LinkUp")
    out.state = fmt::format("ACTIVE without a link ({})", link);
  out.verdict = fields.text("verdict");
  out.reasons = fields.texts("reasons");
  if (const auto firmware = fields.text_if("firmware")) out.facts["firmware"] = *firmware;
  if (const auto pick = fields.object_if("pick")) {
    out.dev.gid_index = pick->number_if<int>("index");
    out.dev.gid = pick->text_or_empty("gid");
    out.dev.subnet = pick->text_or_empty("subnet");
    out.gid_type = pick->text_or_empty("type");
    if (out.dev.link_layer == "InfiniBand") out.dev.subnet = prefix_of(out.dev.gid);
  }
  if (const auto pcie = fields.object_if("pcie")) {
    out.facts["pcie.gts"] = fmt::format("{:g}", pcie->real("gts"));
    out.facts["pcie.width"] = std::to_string(pcie->number<int>("width"));
  }
  return out;
}

NodeVerdict verdict_from(const Fields& fields) {
  return {fields.text("decision"),        fields.text("rule"), fields.text("cause"),
          fields.text_or_empty("device"), fields.text("fact"), fields.text("remedy")};
}

void add_facts(const Fields& check, log::Facts& facts) {
  if (const auto system = check.object_if("system")) {
    for (const char* key : {"kernel", "ofed", "rdma_core"})
      if (const auto text = system->text_if(key)) facts[key] = *text;
    if (const auto gpus = system->number_if<int>("gpus")) facts["gpus"] = std::to_string(*gpus);
  }
  if (const auto gpudirect = check.object_if("gpudirect"))
    for (const char* key : {"gpu_driver", "iommu"})
      if (const auto text = gpudirect->text_if(key)) facts[key] = *text;
  if (const auto limits = check.object_if("limits")) {
    const auto memlock = limits->number_if<std::uint64_t>("memlock");
    const bool limited = memlock && !limits->flag("cap_ipc_lock");
    facts["limits.memlock"] = limited ? std::to_string(*memlock) : "unlimited";
  }
  if (const auto policy = check.object_if("policy")) facts["policy.mode"] = policy->text("mode");
}

void add_variables(const Fields& check, log::Facts& facts) {
  const auto variables = check.object_if("variables");
  if (!variables) return;
  facts["env_hash"] = "known";
  for (const auto& one : variables->value().items())
    facts["env." + printable(one.key())] = variables->text(one.key().c_str());
}

}  // namespace

Node node_from(const json& check) {
  const Fields fields(check);
  Node out;
  auto& process = out.process;
  process.host = process.proc = fields.text("host");
  if (const auto nccl = fields.text_if("nccl")) {
    process.loaded = true;
    process.nccl_version = *nccl;
  }
  if (process.host.empty()) throw BadMessage("host is empty");
  for (const auto& one : fields.objects("hcas")) {
    process.hcas.push_back(hca_from(one));
    if (const auto gdr = one.object_if("gdr"))
      process.gdr[process.hcas.back().dev.name] = gdr->text("way");
  }
  for (const auto& one : fields.objects("verdicts")) out.verdicts.push_back(verdict_from(one));
  if (const auto inside = fields.object_if("inside"))
    for (const auto& one : inside->objects("troubles"))
      out.verdicts.push_back(
          {"warn", "inside", one.text("cause"), "", one.text("msg"), one.text("fix")});
  add_facts(fields, process.facts);
  add_variables(fields, process.facts);
  out.proposal = fields.texts("proposal");
  std::erase_if(out.proposal, [](const std::string& line) { return !is_safe_export_line(line); });
  out.broken = fields.object("result").texts("broken");
  return out;
}

}  // namespace nnd::cli

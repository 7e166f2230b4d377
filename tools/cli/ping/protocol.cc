#include "cli/ping/protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common/event_json.h"
#include "cli/common/export_line.h"
#include "nccl_abi/common.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr std::size_t kSmallestPing = 8;
constexpr std::size_t kMostTroubles = 32;
constexpr std::size_t kMostAsked = 4096;  // bytes of a text in a request

PingTraffic traffic_from(const Fields& fields) {
  PingTraffic out;
  out.sizes = fields.numbers<std::size_t>("sizes", kSmallestPing, kLargestPing);
  if (out.sizes.empty() || out.sizes.size() > kMostPingSizes)
    throw BadMessage("sizes is empty or too long");
  out.stream_ms = fields.number<int>("stream_ms", 1, kLongestPhaseMs);
  out.latency_ms = fields.number<int>("latency_ms", 1, kLongestPhaseMs);
  out.deadline_ms = fields.number<int>("deadline_ms", 1, kLongestAttemptMs);
  return out;
}

std::string handle_from(const Fields& fields) {
  auto handle = fields.text("handle");
  if (handle.size() != 2 * nccl_abi::kHandleSize ||
      handle.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw BadMessage("handle is none");
  // Pointers that another host sends would be followed here.
  handle.replace(2 * nccl_abi::kIbStageAt, 2 * nccl_abi::kIbStageSize,
                 std::string(2 * nccl_abi::kIbStageSize, '0'));
  return handle;
}

std::vector<TcpAddress> places_from(const Fields& fields) {
  constexpr std::size_t kMostOfPort = 5;
  std::vector<TcpAddress> out;
  for (const auto& place : fields.objects("places"))
    out.push_back({place.text("address", kMostAsked), place.text("port", kMostOfPort)});
  if (out.size() > kMostPlaces) throw BadMessage("places is too long");
  return out;
}

PortDescription port_from(const Fields& fields) {
  PortDescription out;
  out.hca = fields.text("name");
  out.port = fields.number_if<int>("port").value_or(0);
  out.netdev = fields.text_or_empty("netdev");
  out.link_layer = fields.text_or_empty("link_layer");
  out.verdict = fields.text("verdict");
  out.mtu = fields.number_if<int>("mtu");
  out.speed_mbps = fields.number_if<std::int64_t>("speed_mbps").value_or(0);
  if (const auto pcie = fields.object_if("pcie")) out.slot_gbit = pcie->real_if("gbit_per_sec");
  out.reasons = fields.texts("reasons");
  if (fields.value().contains("rules")) out.rules = fields.texts("rules");
  if (const auto pick = fields.object_if("pick")) {
    out.gid_index = pick->number_if<int>("index");
    out.gid = pick->text_or_empty("gid");
    out.subnet = pick->text_or_empty("subnet");
  }
  return out;
}

void read_check(const Fields& check, HostDescription& out) {
  for (const auto& port : check.objects("hcas")) out.ports.push_back(port_from(port));
  if (check.value().contains("verdicts"))
    for (const auto& verdict : check.objects("verdicts"))
      out.verdicts.push_back({verdict.text("decision"), verdict.text("fact"), verdict.text("rule"),
                              verdict.text("cause"), verdict.text("remedy")});
  out.proposal = check.texts("proposal");
  std::erase_if(out.proposal, [](const std::string& line) { return !is_safe_export_line(line); });
  const auto result = check.object("result");
  out.broken = result.texts("broken");
  out.refused = result.number<int>("refused");
  if (const auto system = check.object_if("system"))
    if (const auto sockets = system->object_if("oob")) {
      out.socket_netdev = sockets->text_or_empty("netdev");
      out.socket_address = sockets->text_or_empty("address");
    }
}

bool of_pair(const log::Event& event) {
  return event.conn || event.id == log::EventId::kWcError || event.id == log::EventId::kPortEvent;
}

json list_json(const std::vector<log::Diagnosis>& list) {
  json out = json::array();
  for (const auto& one : list) out.push_back(to_json(one));
  return out;
}

Latency latency_from(const Fields& fields) {
  return {fields.number<std::uint64_t>("bytes"), fields.number<std::uint64_t>("samples"),
          fields.real("p50"), fields.real("p99"), fields.real_if("min").value_or(0)};
}

AttemptEvents events_from(const Fields& fields) {
  AttemptEvents out;
  if (const auto own = fields.object_if("own")) out.used = dev_from(*own);
  out.path_mtu = fields.number_if<int>("path_mtu");
  if (const auto first = fields.object_if("first")) out.first = diagnosis_from(*first);
  for (const auto& rule : fields.objects("rules")) out.rules.push_back(diagnosis_from(rule));
  for (const auto& one : fields.objects("troubles")) out.troubles.push_back(diagnosis_from(one));
  return out;
}

}  // namespace

std::size_t PingTraffic::window(std::size_t size) const {
  constexpr std::size_t kMostMemory = 128U << 20U, kMost = 8;
  return std::clamp(kMostMemory / size, std::size_t{2}, kMost);
}

json PingTraffic::to_json() const {
  return {{"sizes", sizes},
          {"stream_ms", stream_ms},
          {"latency_ms", latency_ms},
          {"deadline_ms", deadline_ms}};
}

PingRequest parse_ping_request(const json& message) {
  constexpr int kMostAttempts = 1 << 30, kMostDevices = 1024;
  PingRequest out;
  const Fields fields(message);
  const auto what = fields.text("do");
  if (what == "describe") {
    out.what = PingRequest::What::kDescribe;
    return out;
  }
  if (what == "listen") {
    out.what = PingRequest::What::kListen;
    out.address = fields.text("address", kMostAsked);
    return out;
  }
  if (what == "reach") {
    out.what = PingRequest::What::kReach;
    out.places = places_from(fields);
    return out;
  }
  if (what == "end") {
    out.why = fields.text("why", kMostAsked);
    return out;
  }
  out.attempt = fields.number<int>("attempt", 1, kMostAttempts);
  if (what == "cancel") {
    out.what = PingRequest::What::kCancel;
  } else if (what == "prepare") {
    out.what = PingRequest::What::kPrepare;
    out.hca = fields.text("hca", kMostAsked);
    out.dev = fields.number<int>("dev", 0, kMostDevices);
  } else if (what == "go") {
    out.what = PingRequest::What::kGo;
    out.handle = handle_from(fields);
    out.first = fields.flag("first");
    out.traffic = traffic_from(fields.object("traffic"));
  } else {
    throw BadMessage("it asks for what there is not");
  }
  return out;
}

std::string PortDescription::name() const { return fmt::format("{}:{}", hca, port); }

const PortDescription* HostDescription::find(const std::string& port) const {
  const auto at = std::find_if(ports.begin(), ports.end(),
                               [&](const PortDescription& one) { return one.name() == port; });
  return at == ports.end() ? nullptr : &*at;
}

HostDescription host_from(const json& reply) {
  const Fields fields(reply);
  HostDescription out;
  out.host = fields.text("host");
  out.nccl = fields.text_or_empty("nccl");
  out.problem = fields.text_or_empty("problem");
  out.net_version = fields.number_if<int>("net_version");
  out.devices = fields.texts("devices");
  if (const auto check = fields.object_if("check")) read_check(*check, out);
  out.whole = reply;
  return out;
}

void AttemptEvents::add(const log::Event& event) {
  if (!of_pair(event)) return;
  const bool failed = event.rc.value_or(0) != 0;
  if (event.id == log::EventId::kQpTransition && !event.dev.gid.empty() && (!used || failed)) {
    used = event.dev;
    path_mtu = event.qp.path_mtu;
  }
  auto said = log::diagnosis_of(event);
  if (log::evidence(said) > (first ? log::evidence(*first) : 0)) first = said;
  if (event.id == log::EventId::kPolicyWarn || event.id == log::EventId::kPolicyRefuse)
    rules.push_back(said);
  if (event.severity != log::Severity::kInfo && troubles.size() < kMostTroubles)
    troubles.push_back(std::move(said));
}

json to_json(const Latency& latency) {
  return {{"bytes", latency.bytes},
          {"samples", latency.samples},
          {"p50", latency.p50_us},
          {"p99", latency.p99_us},
          {"min", latency.least_us}};
}

json to_json(const AttemptEvents& events) {
  json out{{"own", nullptr},
           {"path_mtu", nullptr},
           {"first", nullptr},
           {"rules", list_json(events.rules)},
           {"troubles", list_json(events.troubles)}};
  if (events.used) out["own"] = to_json(*events.used);
  if (events.path_mtu) out["path_mtu"] = *events.path_mtu;
  if (events.first) out["first"] = to_json(*events.first);
  return out;
}

json to_json(const EndpointReport& report) {
  json out{{"done", report.done},
           {"late", report.late},
           {"stage", report.stage},
           {"why", report.why},
           {"rc", report.rc},
           {"verified_bytes", report.verified_bytes},
           {"streams", json::array()},
           {"nccl_warning", report.nccl_warning},
           {"events", to_json(report.events)}};
  if (report.connect_ms) out["connect_ms"] = *report.connect_ms;
  if (report.latency) out["latency"] = to_json(*report.latency);
  for (const auto& stream : report.streams)
    out["streams"].push_back(
        {{"size", stream.size}, {"bytes", stream.bytes}, {"gb_per_s", stream.gb_per_s}});
  return out;
}

EndpointReport report_from(const Fields& fields) {
  EndpointReport out;
  out.done = fields.flag("done");
  if (fields.value().contains("late")) out.late = fields.flag("late");
  out.stage = fields.text_or_empty("stage");
  out.why = fields.text_or_empty("why");
  out.rc = fields.number_if<int>("rc").value_or(0);
  out.connect_ms = fields.real_if("connect_ms");
  out.verified_bytes = fields.number_if<std::uint64_t>("verified_bytes").value_or(0);
  if (const auto latency = fields.object_if("latency")) out.latency = latency_from(*latency);
  if (fields.value().contains("streams"))
    for (const auto& stream : fields.objects("streams"))
      out.streams.push_back({stream.number<std::size_t>("size"),
                             stream.number_if<std::uint64_t>("bytes").value_or(0),
                             stream.real("gb_per_s")});
  out.nccl_warning = fields.text_or_empty("nccl_warning");
  out.events = events_from(fields.object("events"));
  return out;
}

}  // namespace nnd::cli

#include <array>

#include "cli/report/bandwidth_text.h"
#include "cli/report/others.h"
#include "cli/report/others_text.h"
#include "cli/report/ras_text.h"

namespace nnd::cli {

using foreign::Fact;
using nlohmann::json;
using report::ForeignFindings;

namespace {

json fact_json(const Fact& fact) {
  json out{{"source", foreign::name_of(fact.source)},
           {"sure", fact.sure == foreign::Sure::kSaid ? "said" : "follows"},
           {"file", fact.file},
           {"line", fact.line},
           {"count", fact.count},
           {"text", fact.text}};
  const auto note = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  note("cause", id_of_cause(fact));
  note("host", fact.writer.host);
  note("device", fact.dev);
  note("peer", fact.peer);
  note("local_gid", fact.local);
  note("remote_gid", fact.remote);
  if (fact.writer.pid != 0) out["pid"] = fact.writer.pid;
  if (fact.writer.rank) out["rank"] = *fact.writer.rank;
  if (fact.error) out["errno"] = *fact.error;
  if (fact.status) out["status"] = *fact.status;
  note("pci", fact.pci);
  note("netdev", fact.netdev);
  note("program", fact.program);
  if (fact.what == foreign::What::kRaised) note("raised_at", fact.place);
  if (fact.pid != 0) out["of_pid"] = fact.pid;
  if (fact.up_sec > 0) out["up_sec"] = fact.up_sec;
  return out;
}

json raised_json(const report::Raised& raised) {
  auto out = fact_json(*raised.told);
  out.erase("rank");
  out[raised.on_node ? "local_ranks" : "ranks"] = raised.ranks;
  out["own"] = raised.own;
  return out;
}

json call_json(const foreign::FlightCall& call) {
  json out{{"collective", call.what}, {"seq", call.seq}, {"sizes", call.sizes}};
  if (!call.place.empty()) out["called_at"] = call.place;
  return out;
}

json flight_json(const report::Flight& flight) {
  constexpr std::array kNames{"behind", "mismatched", "no-dump", "all-in"};
  json out{{"kind", kNames.at(static_cast<std::size_t>(flight.kind))},
           {"group", flight.group},
           {"call", call_json(flight.call)},
           {"waiting", flight.waiting},
           {"ranks", flight.guilty},
           {"source", source_of(flight)},
           {"text", flight_text(flight)}};
  if (flight.other) out["other_call"] = call_json(*flight.other);
  return out;
}

}  // namespace

json others_json(const ForeignFindings& others, const foreign::Evidence& evidence) {
  json out{{"files", evidence.files.size()},        {"problems", evidence.problems},
           {"processes", others.processes},         {"hosts", others.hosts},
           {"releases", others.releases},           {"transports", others.transports},
           {"blame", report::name_of(others.blame)}};
  if (others.first != nullptr) out["first"] = fact_json(*others.first);
  if (others.sign != nullptr) out["sign"] = fact_json(*others.sign);
  if (others.flight) out["flight_recorder"] = flight_json(*others.flight);
  if (others.ras) out["ras"] = ras_json(*others.ras);
  if (others.killed != nullptr) out["killed"] = fact_json(*others.killed);
  if (others.raised) out["raised"] = raised_json(*others.raised);
  if (others.cancelled != nullptr) out["cancelled"] = fact_json(*others.cancelled);
  if (others.ended != nullptr) out["ended"] = fact_json(*others.ended);
  if (!others.bandwidths.empty()) out["bandwidth"] = bandwidth_json(others.bandwidths);
  for (const auto* fact : others.kernel) out["kernel"].push_back(fact_json(*fact));
  return out;
}

}  // namespace nnd::cli

#include "cli/common/event_json.h"

#include <fmt/format.h>

namespace nnd::cli {

using nlohmann::json;

namespace {

void put(json& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}

template <typename T>
void put(json& out, const char* key, const std::optional<T>& value) {
  if (value) out[key] = *value;
}

void put(json& out, const char* key, const json& object) {
  if (!object.empty()) out[key] = object;
}

}  // namespace

json to_json(const log::Dev& dev) {
  json out = json::object();
  put(out, "index", dev.index);
  put(out, "name", dev.name);
  put(out, "port", dev.port);
  put(out, "netdev", dev.netdev);
  put(out, "gid_index", dev.gid_index);
  put(out, "gid", dev.gid);
  put(out, "subnet", dev.subnet);
  put(out, "link_layer", dev.link_layer);
  put(out, "mtu", dev.mtu);
  put(out, "speed_mbps", dev.speed_mbps);
  put(out, "pci", dev.pci);
  put(out, "numa", dev.numa);
  return out;
}

json to_json(const log::Peer& peer) {
  json out = json::object();
  put(out, "proc", peer.proc);
  put(out, "rank", peer.rank);
  put(out, "host", peer.host);
  put(out, "pid", peer.pid);
  put(out, "dev", peer.dev);
  put(out, "gid", peer.gid);
  put(out, "subnet", peer.subnet);
  return out;
}

json to_json(const log::Link& link) { return {{"proc", link.proc}, {"listen", link.listen}}; }

json to_json(const log::Diagnosis& diagnosis) {
  json out{{"ev", diagnosis.event}, {"sev", nccl_net_diag::severity_name(diagnosis.severity)}};
  put(out, "proc", diagnosis.proc);
  put(out, "ts", diagnosis.ts);
  if (diagnosis.mono_ns != 0) out["mono_ns"] = diagnosis.mono_ns;
  put(out, "conn", diagnosis.conn);
  put(out, "failure", diagnosis.failure);
  if (diagnosis.dir) out["dir"] = log::name_of(*diagnosis.dir);
  put(out, "rule", diagnosis.rule);
  put(out, "cause", diagnosis.cause);
  put(out, "msg", diagnosis.msg);
  put(out, "fix", diagnosis.fix);
  put(out, "errno", diagnosis.error);
  put(out, "rc", diagnosis.rc);
  put(out, "stage", diagnosis.stage);
  put(out, "verb", diagnosis.verb);
  put(out, "to", diagnosis.transition);
  put(out, "event", diagnosis.port_event);
  put(out, "status", diagnosis.wc.status);
  put(out, "status_name", diagnosis.wc.status_name);
  put(out, "vendor_err", diagnosis.wc.vendor_err);
  put(out, "dev", to_json(diagnosis.dev));
  put(out, "peer", to_json(diagnosis.peer));
  put(out, "dur_us", diagnosis.dur_us);
  return out;
}

log::Dev dev_from(const Fields& fields) {
  log::Dev out;
  out.name = fields.text_if("name").value_or("");
  out.index = fields.number_if<int>("index");
  out.port = fields.number_if<int>("port");
  out.netdev = fields.text_if("netdev").value_or("");
  out.gid_index = fields.number_if<int>("gid_index");
  out.gid = fields.text_if("gid").value_or("");
  out.subnet = fields.text_if("subnet").value_or("");
  out.link_layer = fields.text_if("link_layer").value_or("");
  out.mtu = fields.number_if<int>("mtu");
  out.speed_mbps = fields.number_if<std::int64_t>("speed_mbps");
  out.pci = fields.text_if("pci").value_or("");
  out.numa = fields.number_if<int>("numa");
  return out;
}

log::Link link_from(const Fields& fields) {
  return {fields.text("proc"), fields.number<std::uint64_t>("listen")};
}

log::Direction direction_from(const Fields& fields) {
  const auto dir = fields.text("dir");
  if (dir != "send" && dir != "recv") throw BadMessage("dir is neither send nor recv");
  return dir == "send" ? log::Direction::kSend : log::Direction::kRecv;
}

log::Diagnosis diagnosis_from(const Fields& fields) {
  log::Diagnosis out;
  out.event = fields.text("ev");
  const auto severity = fields.text("sev");
  out.severity = severity == "info"   ? log::Severity::kInfo
                 : severity == "warn" ? log::Severity::kWarn
                                      : log::Severity::kError;
  out.proc = fields.text_if("proc").value_or("");
  out.ts = fields.text_if("ts").value_or("");
  out.mono_ns = fields.number_if<std::uint64_t>("mono_ns").value_or(0);
  out.conn = fields.number_if<std::uint64_t>("conn");
  out.failure = fields.number_if<std::uint64_t>("failure");
  if (fields.text_if("dir")) out.dir = direction_from(fields);
  out.rule = fields.text_if("rule").value_or("");
  out.cause = fields.text_if("cause").value_or("");
  out.msg = fields.text_if("msg").value_or("");
  out.fix = fields.text_if("fix").value_or("");
  out.error = fields.number_if<int>("errno");
  out.rc = fields.number_if<int>("rc");
  out.stage = fields.text_if("stage").value_or("");
  out.verb = fields.text_if("verb").value_or("");
  out.transition = fields.text_if("to").value_or("");
  out.port_event = fields.text_if("event").value_or("");
  out.wc.status = fields.number_if<int>("status");
  out.wc.status_name = fields.text_if("status_name").value_or("");
  out.wc.vendor_err = fields.number_if<std::uint32_t>("vendor_err");
  if (const auto dev = fields.object_if("dev")) out.dev = dev_from(*dev);
  if (const auto peer = fields.object_if("peer")) {
    out.peer.proc = peer->text_if("proc").value_or("");
    out.peer.rank = peer->number_if<int>("rank");
    out.peer.host = peer->text_if("host").value_or("");
    out.peer.pid = peer->number_if<std::int64_t>("pid");
    out.peer.dev = peer->text_if("dev").value_or("");
    out.peer.gid = peer->text_if("gid").value_or("");
    out.peer.subnet = peer->text_if("subnet").value_or("");
  }
  out.dur_us = fields.real_if("dur_us");
  return out;
}

std::string left_out(const log::Counts& counts) {
  std::string out;
  const auto add = [&](std::uint64_t number, const char* what) {
    if (number != 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", number, what);
  };
  add(counts.truncated, "cut off");
  add(counts.foreign, "that are no events");
  add(counts.too_long, "too long");
  add(counts.unreadable, "files that cannot be opened");
  return out;
}

}  // namespace nnd::cli

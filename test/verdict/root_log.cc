#include "verdict/root_log.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace nnd::verdict {

namespace {

using Json = nlohmann::json;

// An idle process waits for nobody, and a slow connection moves.
bool is_wait(const std::string& kind) {
  return kind != "idle" && kind != "slow" && kind != "not-polled";
}

NamedProcess process_of(const Json& json) {
  NamedProcess out;
  if (json.contains("rank")) out.rank = json["rank"].get<int>();
  if (json.contains("pid")) out.pid = json["pid"].get<int>();
  out.host = json.value("host", "");
  out.proc = json.value("proc", "");
  return out;
}

RootLine root_of(const Json& event, std::uint64_t mono_ns) {
  const Json& awaited = event.at("awaited");
  RootLine out{.mono_ns = mono_ns,
               .warns = event.value("sev", "") != "info",
               .kind = awaited.at("kind"),
               .cause = event.value("cause", ""),
               .place = awaited.value("place", ""),
               .msg = event.value("msg", ""),
               .who = process_of(awaited),
               .task = awaited.contains("task"),
               .age_sec = event.value("age_us", 0.0) / 1e6};
  if (awaited.contains("other")) out.other = process_of(awaited["other"]);
  return out;
}

class Reading {
 public:
  void take(const Json& event) {
    const std::string name = event.value("ev", "");
    if (log_.proc.empty()) log_.proc = event.value("proc", "");
    const std::uint64_t mono_ns = event.value("mono_ns", std::uint64_t{0});
    if (name == "job.stall") log_.lines.push_back(root_of(event, mono_ns));
    if (name == "conn.stall" && is_wait(event.value("kind", ""))) begin(key_of(event), mono_ns);
    if (name == "conn.resume") end(key_of(event), mono_ns);
    if (name == "env.lint" && event.value("variable", "") == "NCCL_NET_DIAG_PEERS")
      log_.no_peers = event.value("msg", "");
    if (event.value("sev", "") == "error" && !log_.failed_ns) log_.failed_ns = mono_ns;
  }
  RootLog log() { return std::move(log_); }

 private:
  using Key = std::pair<std::string, std::string>;  // its kind and HCA

  static Key key_of(const Json& event) {
    const auto dev = event.find("dev");
    return {event.value("kind", ""), dev == event.end() ? "" : dev->value("name", "")};
  }
  void begin(const Key& key, std::uint64_t mono_ns) {
    if (waiting_.empty()) log_.waits.push_back({mono_ns});
    waiting_.insert(key);
  }
  void end(const Key& key, std::uint64_t mono_ns) {
    if (waiting_.erase(key) != 0 && waiting_.empty()) log_.waits.back().to_ns = mono_ns;
  }

  RootLog log_;
  std::set<Key> waiting_;
};

}  // namespace

const WaitSpan* RootLog::wait_at(std::uint64_t mono_ns) const {
  for (const WaitSpan& wait : waits)
    if (wait.from_ns <= mono_ns && (!wait.to_ns || *wait.to_ns >= mono_ns)) return &wait;
  return nullptr;
}

RootLog read_root_log(std::istream& in) {
  Reading reading;
  for (std::string line; std::getline(in, line);) {
    const Json event = Json::parse(line, nullptr, false);
    if (event.is_object()) reading.take(event);
  }
  return reading.log();
}

}  // namespace nnd::verdict

#include "cli/ping/conduct.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <optional>

namespace nnd::cli {

using nlohmann::json;
using std::chrono::milliseconds;

namespace {

// Loading libnccl takes its time, most of all on a host that is busy.
constexpr milliseconds kLoadPatience{180000};
// Beyond the attempt's own deadline, which each host keeps by itself.
constexpr milliseconds kReportPatience{60000};
// When one end has failed the other soon knows more than that it was cancelled.
constexpr milliseconds kGrace{3000};
constexpr int kTickMs = 5;

// NCCL's, of a port that the host has described.
int device_number(const json& host, const std::string& port) {
  const auto devices = host.value("devices", std::vector<std::string>());
  return static_cast<int>(std::find(devices.begin(), devices.end(), port) - devices.begin());
}

bool failed(const json& report) { return report.is_object() && !report.value("done", false); }

}  // namespace

PingConductor::PingConductor(std::vector<wire::JsonSocket> hosts, PingTraffic traffic,
                             Clock::time_point deadline, std::function<bool()> stop)
    : hosts_(std::move(hosts)),
      traffic_(std::move(traffic)),
      deadline_(deadline),
      stop_(std::move(stop)) {}

PingConductor::~PingConductor() { end("the other side ended early"); }

void PingConductor::end(const std::string& why) {
  if (over_) return;
  over_ = true;
  for (auto& host : hosts_) host.send({{"do", "end"}, {"why", why}});
}

std::string PingConductor::name(std::size_t host) const {
  if (host < described_.size() && described_[host].is_object())
    return described_[host].value("host", "?");
  return host == 0 ? "this host" : fmt::format("host {}", host);
}

void PingConductor::check() {
  if (stop_()) throw PingEnded("interrupted");
  if (Clock::now() >= deadline_) throw PingEnded("the deadline came first");
}

void PingConductor::ask(std::size_t host, const json& request) {
  if (!hosts_[host].send(request))
    throw PingEnded(fmt::format("{}: {}", name(host), hosts_[host].why()));
}

std::optional<json> PingConductor::reply(std::size_t host, int attempt) {
  auto& socket = hosts_[host];
  while (const auto message = socket.receive()) {
    if (message->contains("left"))
      throw PingEnded(fmt::format("{} left: {}", name(host), message->value("left", "?")));
    if (message->value("attempt", -1) == attempt && message->contains("reply"))
      return message->at("reply");
  }
  if (socket.closed()) throw PingEnded(fmt::format("{}: {}", name(host), socket.why()));
  return std::nullopt;
}

const std::vector<json>& PingConductor::describe() {
  std::vector<std::optional<json>> replies(hosts_.size());
  for (std::size_t i = 0; i < hosts_.size(); ++i) ask(i, {{"do", "describe"}});
  const auto late = Clock::now() + kLoadPatience;
  for (std::size_t i = 0; i < hosts_.size();) {
    if (!replies[i]) replies[i] = reply(i, 0);
    if (replies[i]) {
      ++i;
      continue;
    }
    check();
    if (Clock::now() >= late) throw PingEnded(name(i) + " does not answer");
    poll(nullptr, 0, kTickMs);
  }
  for (auto& one : replies) described_.push_back(std::move(*one));
  return described_;
}

// Waits for both ends, and cancels the one that is left when the other has failed.
bool PingConductor::all_reports(std::size_t from, std::size_t to, json (&reports)[2],
                                milliseconds patience) {
  const std::size_t hosts[2] = {from, to};
  const auto late = Clock::now() + patience;
  std::optional<Clock::time_point> failed_at;
  bool cancelled = false;
  for (;;) {
    check();
    for (int i = 0; i < 2; ++i)
      if (reports[i].is_null()) reports[i] = reply(hosts[i], attempts_).value_or(json());
    if (!reports[0].is_null() && !reports[1].is_null())
      return reports[0].contains("handle") && reports[1].contains("handle");
    for (int i = 0; i < 2; ++i)
      if (failed(reports[i]) && !reports[i].contains("handle") && !failed_at)
        failed_at = Clock::now();
    if (failed_at && !cancelled && Clock::now() >= *failed_at + kGrace) {
      cancelled = true;
      for (int i = 0; i < 2; ++i)
        if (reports[i].is_null()) ask(hosts[i], {{"do", "cancel"}, {"attempt", attempts_}});
    }
    if (Clock::now() >= late)
      throw PingEnded(name(hosts[reports[0].is_null() ? 0 : 1]) + " does not answer");
    poll(nullptr, 0, kTickMs);
  }
}

PingConductor::Outcome PingConductor::attempt(const PingPair& pair) {
  const auto start = Clock::now();
  const std::size_t hosts[2] = {pair.from_host, pair.to_host};
  const std::string* const hcas[2] = {&pair.from, &pair.to};
  ++attempts_;
  for (int i = 0; i < 2; ++i)
    ask(hosts[i], {{"do", "prepare"},
                   {"attempt", attempts_},
                   {"hca", *hcas[i]},
                   {"dev", device_number(described_[hosts[i]], *hcas[i])}});
  json prepared[2];
  json reports[2];
  if (all_reports(hosts[0], hosts[1], prepared, kLoadPatience)) {
    for (int i = 0; i < 2; ++i)
      ask(hosts[i], {{"do", "go"},
                     {"attempt", attempts_},
                     {"handle", prepared[1 - i].at("handle")},
                     {"first", i == 0},
                     {"traffic", traffic_.to_json()}});
    all_reports(hosts[0], hosts[1], reports, milliseconds(traffic_.deadline_ms) + kReportPatience);
  } else {
    // One end is ready and was not cancelled in time: it is told now.
    for (int i = 0; i < 2; ++i) {
      if (!prepared[i].contains("handle"))
        reports[i] = prepared[i];
      else
        ask(hosts[i], {{"do", "cancel"}, {"attempt", attempts_}});
    }
    all_reports(hosts[0], hosts[1], reports, kReportPatience);
  }
  return {std::move(reports[0]), std::move(reports[1]),
          std::chrono::duration<double>(Clock::now() - start).count()};
}

}  // namespace nnd::cli

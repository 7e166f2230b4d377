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
constexpr milliseconds kDescribePatience{180000};
// Beyond the attempt's own deadline, which each host keeps by itself.
constexpr milliseconds kReportPatience{60000};
// When one end has failed the other soon knows more than that it was cancelled.
constexpr milliseconds kGrace{3000};
constexpr int kReplyTickMs = 5;

// NCCL's, of a port that the host has described.
int device_number(const HostDescription& host, const std::string& port) {
  return static_cast<int>(std::find(host.devices.begin(), host.devices.end(), port) -
                          host.devices.begin());
}

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
  if (host < described_.size()) return described_[host].host;
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
    const Fields fields(*message);
    if (const auto left = fields.text_if("left"))
      throw PingEnded(fmt::format("{} left: {}", name(host), *left));
    if (fields.number_if<int>("attempt") == attempt && message->contains("reply"))
      return message->at("reply");
  }
  if (socket.closed()) throw PingEnded(fmt::format("{}: {}", name(host), socket.why()));
  return std::nullopt;
}

const std::vector<HostDescription>& PingConductor::describe() {
  std::vector<std::optional<json>> replies(hosts_.size());
  for (std::size_t i = 0; i < hosts_.size(); ++i) ask(i, {{"do", "describe"}});
  const auto late = Clock::now() + kDescribePatience;
  for (std::size_t i = 0; i < hosts_.size();) {
    if (!replies[i]) replies[i] = reply(i, 0);
    if (replies[i]) {
      ++i;
      continue;
    }
    check();
    if (Clock::now() >= late) throw PingEnded(name(i) + " does not answer");
    poll(nullptr, 0, kReplyTickMs);
  }
  for (const auto& one : replies) described_.push_back(host_from(*one));
  return described_;
}

// Waits for both ends, and cancels the one that is left when the other has failed.
PingConductor::Answers PingConductor::answers(const PingPair& pair, int attempt, Answers so_far,
                                              milliseconds patience) {
  const std::array hosts{pair.from_host, pair.to_host};
  const auto late = Clock::now() + patience;
  std::optional<Clock::time_point> failed_at;
  bool cancelled = false;
  for (;;) {
    check();
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (so_far[i].there()) continue;
      const auto said = reply(hosts[i], attempt);
      if (!said) continue;
      const Fields fields(*said);
      so_far[i].handle = fields.text_if("handle");
      if (!so_far[i].handle) so_far[i].report = report_from(fields);
    }
    if (so_far[0].there() && so_far[1].there()) return so_far;
    if (!failed_at && (so_far[0].failed() || so_far[1].failed())) failed_at = Clock::now();
    if (failed_at && !cancelled && Clock::now() >= *failed_at + kGrace) {
      cancelled = true;
      for (std::size_t i = 0; i < hosts.size(); ++i)
        if (!so_far[i].there()) ask(hosts[i], {{"do", "cancel"}, {"attempt", attempt}});
    }
    if (Clock::now() >= late)
      throw PingEnded(name(hosts[so_far[0].there() ? 1 : 0]) + " does not answer");
    poll(nullptr, 0, kReplyTickMs);
  }
}

PairOutcome PingConductor::attempt(const PingPair& pair) {
  const auto start = Clock::now();
  const std::array hosts{pair.from_host, pair.to_host};
  const std::array hcas{&pair.from, &pair.to};
  const int attempt = ++attempts_;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    ask(hosts[i], {{"do", "prepare"},
                   {"attempt", attempt},
                   {"hca", *hcas[i]},
                   {"dev", device_number(described_[hosts[i]], *hcas[i])}});
  const auto prepared = answers(pair, attempt, {}, kDescribePatience);
  Answers reports;
  auto patience = kReportPatience;
  if (prepared[0].handle && prepared[1].handle) {
    patience += milliseconds(traffic_.deadline_ms);
    for (std::size_t i = 0; i < hosts.size(); ++i)
      ask(hosts[i], {{"do", "go"},
                     {"attempt", attempt},
                     {"handle", *prepared[1 - i].handle},
                     {"first", i == 0},
                     {"traffic", traffic_.to_json()}});
  } else {
    // One end is ready and was not cancelled in time: it is told now.
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (prepared[i].report)
        reports[i] = prepared[i];
      else
        ask(hosts[i], {{"do", "cancel"}, {"attempt", attempt}});
    }
  }
  reports = answers(pair, attempt, std::move(reports), patience);
  if (!reports[0].report || !reports[1].report)
    throw BadMessage("it answers with a handle where a report is due");
  return {std::move(*reports[0].report), std::move(*reports[1].report),
          std::chrono::duration<double>(Clock::now() - start).count()};
}

}  // namespace nnd::cli

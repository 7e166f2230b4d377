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
constexpr int kMostErrno = 4095;  // as the kernel has it

// One of a link needs the name of an interface at the other end.
bool can_be_tried(const std::string& address) {
  return !address.empty() && !address.starts_with("fe80:");
}

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

std::map<std::size_t, json> PingConductor::ask_all(const std::map<std::size_t, json>& requests,
                                                   milliseconds patience) {
  for (const auto& [host, request] : requests) ask(host, request);
  const auto late = Clock::now() + patience;
  std::map<std::size_t, json> out;
  for (const auto& [host, request] : requests)
    for (;;) {
      if (auto said = reply(host, 0)) {
        out.emplace(host, std::move(*said));
        break;
      }
      check();
      if (Clock::now() >= late) throw PingEnded(name(host) + " does not answer");
      poll(nullptr, 0, kReplyTickMs);
    }
  return out;
}

const std::vector<HostDescription>& PingConductor::describe() {
  std::map<std::size_t, json> requests;
  for (std::size_t i = 0; i < hosts_.size(); ++i) requests[i] = {{"do", "describe"}};
  for (const auto& [host, said] : ask_all(requests, kDescribePatience))
    described_.push_back(host_from(said));
  return described_;
}

std::vector<MeetingTry> PingConductor::meet(
    const std::set<std::pair<std::size_t, std::size_t>>& pairs) {
  std::map<std::size_t, json> to_listen, to_reach;
  for (const auto& [from, to] : pairs)
    for (const std::size_t host : {from, to})
      if (const auto& address = described_[host].socket_address; can_be_tried(address))
        to_listen[host] = {{"do", "listen"}, {"address", address}};
  std::map<std::size_t, std::string> ports;
  for (const auto& [host, said] : ask_all(to_listen, kReportPatience))
    if (auto port = Fields(said).text("port"); !port.empty()) ports[host] = std::move(port);
  std::map<std::size_t, std::vector<std::size_t>> targets;
  for (const auto& [from, to] : pairs)
    for (const auto& [one, other] : {std::pair(from, to), std::pair(to, from)})
      if (ports.contains(other) && targets[one].size() < kMostPlaces) targets[one].push_back(other);
  for (const auto& [host, all] : targets) {
    json places = json::array();
    for (const std::size_t to : all)
      places.push_back({{"address", described_[to].socket_address}, {"port", ports.at(to)}});
    if (!all.empty()) to_reach[host] = {{"do", "reach"}, {"places", std::move(places)}};
  }
  std::vector<MeetingTry> out;
  for (const auto& [host, said] : ask_all(to_reach, kReportPatience)) {
    const auto errors = Fields(said).numbers<int>("errors", 0, kMostErrno);
    if (errors.size() != targets[host].size()) throw BadMessage("errors has another length");
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const HostDescription& to = described_[targets[host][i]];
      out.push_back(
          {described_[host].host, to.host, to.socket_address, to.socket_netdev, errors[i]});
    }
  }
  return out;
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

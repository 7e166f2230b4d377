#include "cli/ping/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "driver/error.h"
#include "log/reader.h"

namespace nnd::cli {

using driver::Clock;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kLatencySize = 8;
constexpr int kMostSamples = 100000;
constexpr std::array<std::size_t, 4> kVerifiedSizes{1, 4097, 65536, 1U << 20U};

// The transport failed: told in the report, not thrown further.
struct Failed {
  std::string stage, why;
  int rc = 0;
  bool late = false;
};

void expect(const json& reply, const char* stage) {
  if (reply.is_null()) return;
  const int rc = reply.value("rc", 0);
  if (rc != 0) {
    const auto where = reply.value("stage", std::string(stage));
    throw Failed{where, fmt::format("the transport's {} returned {}", where, rc), rc, false};
  }
  if (reply.contains("corrupt"))
    throw Failed{stage, reply.at("corrupt").get<std::string>(), 0, false};
  if (reply.value("timeout", false))
    throw Failed{stage, fmt::format("{} did not end in time", stage), 0, true};
}

// What the exception that is being handled says. One that is none of the transport's goes on.
void tell_failure(EndpointReport& report) {
  try {
    throw;
  } catch (const Failed& failed) {
    report.stage = failed.stage;
    report.why = failed.why;
    report.rc = failed.rc;
    report.late = failed.late;
  } catch (const PingStopped& stopped) {
    report.why = stopped.what();
    report.late = stopped.late();
  } catch (const driver::Error& error) {
    report.why = error.what();
  }
}

EndpointReport at_stage(const char* stage) {
  EndpointReport out;
  out.stage = stage;
  return out;
}

// A log that is missing has no events.
AttemptEvents read_events(const std::filesystem::path& file) {
  AttemptEvents out;
  try {
    log::read_logs({file}, [&](const log::Event& event) { out.add(event); });
  } catch (const log::ReadError&) {
  }
  return out;
}

}  // namespace

PingEndpoint::PingEndpoint(const RankSetup& setup, int attempt, PingTick tick)
    : rank_(setup, fmt::format("attempt{}", attempt), std::move(tick)) {}

milliseconds PingEndpoint::left() const {
  return std::max(milliseconds(1),
                  std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now()));
}

PingEndpoint::Prepared PingEndpoint::prepare(const std::string& hca, int dev) {
  auto report = at_stage("load");
  try {
    const auto loaded = rank_.load();
    if (loaded.at("init_rc") != 0)
      throw Failed{"init", "the transport's init failed", loaded.at("init_rc"), false};
    const auto& devices = loaded.at("devices");
    const auto wanted = static_cast<std::size_t>(dev);
    if (wanted >= devices.size() ||
        devices[wanted].value("name", "") != hca.substr(0, hca.rfind(':')))
      throw Failed{"devices", hca + " is not among the transport's devices", 0, false};
    dev_ = dev;
    context_ = loaded.at("context");
    constexpr milliseconds kPatience{20000};
    const auto listening =
        rank_.ask({{"op", "listen"}, {"context", context_}, {"dev", dev_}}, kPatience);
    expect(listening, "listen");
    listener_ = listening.at("listener");
    return {listening.at("handle"), {}};
  } catch (...) {
    tell_failure(report);
  }
  return {"", finish(std::move(report))};
}

EndpointReport PingEndpoint::go(const PingRequest& request) {
  auto report = at_stage("connect");
  deadline_ = Clock::now() + milliseconds(request.traffic.deadline_ms);
  try {
    open(request, report);
    measure(request, report);
    report.stage = "close";
    for (const int conn : {send_, recv_})
      expect(rank_.ask({{"op", "close"}, {"conn", conn}}, left()), "close");
    expect(rank_.ask({{"op", "close"}, {"listener", listener_}}, left()), "close");
    expect(rank_.ask({{"op", "finalize"}, {"context", context_}}, left()), "finalize");
    report.done = true;
  } catch (...) {
    tell_failure(report);
  }
  return finish(std::move(report));
}

EndpointReport PingEndpoint::cancel() {
  auto report = at_stage("connect");
  report.why = "cancelled";
  return finish(std::move(report));
}

void PingEndpoint::open(const PingRequest& request, EndpointReport& report) {
  const auto patience = left();
  const auto [connected, accepted] = rank_.ask_both({{"op", "connect"},
                                                     {"context", context_},
                                                     {"dev", dev_},
                                                     {"handle", request.handle},
                                                     {"deadline_ms", patience.count()}},
                                                    {{"op", "accept"},
                                                     {"context", context_},
                                                     {"listener", listener_},
                                                     {"deadline_ms", patience.count()}},
                                                    patience + milliseconds(5000));
  expect(connected, "connect");
  expect(accepted, "accept");
  send_ = connected.at("conn");
  recv_ = accepted.at("conn");
  report.connect_ms =
      std::max(connected.at("ns").get<double>(), accepted.at("ns").get<double>()) / 1e6;
}

json PingEndpoint::transfer(json request, const char* stage) {
  request["deadline_ms"] = left().count();
  auto reply = rank_.ask(std::move(request), left() + milliseconds(5000));
  expect(reply, stage);
  return reply;
}

// Both halves go through the same steps; that of a sender ends when the receiver's does.
void PingEndpoint::measure(const PingRequest& request, EndpointReport& report) {
  const bool first = request.first;
  report.stage = "data";
  std::uint64_t verified = 0;
  for (const bool sending : {first, !first}) {
    const auto moved = transfer({{"op", sending ? "send" : "recv"},
                                 {"conn", sending ? send_ : recv_},
                                 {"sizes", kVerifiedSizes},
                                 {"offset", 3}},
                                "data");
    if (!sending) verified = moved.at("bytes");
  }
  report.verified_bytes = verified;
  report.stage = "latency";
  const auto latency = transfer({{"op", "pingpong"},
                                 {"send", send_},
                                 {"recv", recv_},
                                 {"first", first},
                                 {"size", kLatencySize},
                                 {"most", kMostSamples},
                                 {"ms", request.traffic.latency_ms}},
                                "latency");
  const auto us = [&](const char* key) { return latency.at(key).get<double>() / 1000; };
  if (first)
    report.latency = {kLatencySize, latency.at("samples"), us("p50_ns"), us("p99_ns"),
                      us("min_ns")};
  report.stage = "stream";
  for (const std::size_t size : request.traffic.sizes)
    for (const bool sending : {first, !first}) {
      const auto moved = transfer({{"op", "stream"},
                                   {"conn", sending ? send_ : recv_},
                                   {"size", size},
                                   {"window", request.traffic.window(size)},
                                   {"ms", request.traffic.stream_ms}},
                                  "stream");
      if (!sending) continue;
      const double ns = std::max(moved.at("ns").get<double>(), 1.0);
      report.streams.push_back({size, moved.at("bytes"), moved.at("bytes").get<double>() / ns});
    }
}

EndpointReport PingEndpoint::finish(EndpointReport report) {
  if (!report.done) report.nccl_warning = rank_.last_words();
  report.events = read_events(rank_.end());
  return report;
}

}  // namespace nnd::cli

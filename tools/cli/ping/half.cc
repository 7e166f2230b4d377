#include "cli/ping/half.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/ping/events.h"
#include "driver/error.h"

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
void tell_failure(json& report) {
  try {
    throw;
  } catch (const Failed& failed) {
    report.update(
        {{"stage", failed.stage}, {"why", failed.why}, {"rc", failed.rc}, {"late", failed.late}});
  } catch (const PingStopped& stopped) {
    report.update({{"why", stopped.what()}, {"late", stopped.late()}});
  } catch (const driver::Error& error) {
    report["why"] = error.what();
  }
}

}  // namespace

PingHalf::PingHalf(const PingHost& host, int attempt, PingTick tick)
    : rank_(host, fmt::format("attempt{}", attempt), std::move(tick)) {}

milliseconds PingHalf::left() const {
  return std::max(milliseconds(1),
                  std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now()));
}

json PingHalf::prepare(const std::string& hca, int dev) {
  json report{{"done", false}, {"stage", "load"}};
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
    return {{"handle", listening.at("handle")}};
  } catch (...) {
    tell_failure(report);
  }
  return finish(std::move(report));
}

json PingHalf::go(const PingRequest& request) {
  json report{{"done", false}, {"stage", "connect"}};
  deadline_ = Clock::now() + milliseconds(request.traffic.deadline_ms);
  try {
    open(request, report);
    measure(request, report);
    report["stage"] = "close";
    for (const int conn : {send_, recv_})
      expect(rank_.ask({{"op", "close"}, {"conn", conn}}, left()), "close");
    expect(rank_.ask({{"op", "close"}, {"listener", listener_}}, left()), "close");
    expect(rank_.ask({{"op", "finalize"}, {"context", context_}}, left()), "finalize");
    report["done"] = true;
  } catch (...) {
    tell_failure(report);
  }
  return finish(std::move(report));
}

json PingHalf::cancel() {
  return finish({{"done", false}, {"stage", "connect"}, {"why", "cancelled"}});
}

void PingHalf::open(const PingRequest& request, json& report) {
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
  report["connect_ms"] =
      std::max(connected.at("ns").get<double>(), accepted.at("ns").get<double>()) / 1e6;
}

json PingHalf::transfer(json request, const char* stage) {
  request["deadline_ms"] = left().count();
  auto reply = rank_.ask(std::move(request), left() + milliseconds(5000));
  expect(reply, stage);
  return reply;
}

// Both halves go through the same steps; that of a sender ends when the receiver's does.
void PingHalf::measure(const PingRequest& request, json& report) {
  const bool first = request.first;
  report["stage"] = "data";
  std::uint64_t verified = 0;
  for (const bool sending : {first, !first}) {
    const auto moved = transfer({{"op", sending ? "send" : "recv"},
                                 {"conn", sending ? send_ : recv_},
                                 {"sizes", kVerifiedSizes},
                                 {"offset", 3}},
                                "data");
    if (!sending) verified = moved.at("bytes");
  }
  report["verified_bytes"] = verified;
  report["stage"] = "latency";
  const auto latency = transfer({{"op", "pingpong"},
                                 {"send", send_},
                                 {"recv", recv_},
                                 {"first", first},
                                 {"size", kLatencySize},
                                 {"most", kMostSamples},
                                 {"ms", request.traffic.latency_ms}},
                                "latency");
  if (first) {
    report["latency"] = {{"bytes", kLatencySize}, {"samples", latency.at("samples")}};
    for (const char* key : {"p50", "p99", "min"})
      report["latency"][key] = latency.at(std::string(key) + "_ns").get<double>() / 1000;
  }
  report["stage"] = "stream";
  report["streams"] = json::array();
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
      report["streams"].push_back({{"size", size},
                                   {"bytes", moved.at("bytes")},
                                   {"gb_per_s", moved.at("bytes").get<double>() / ns}});
    }
}

json PingHalf::finish(json report) {
  if (!report.at("done").get<bool>())
    if (const auto words = rank_.last_words(); !words.empty()) report["nccl_warning"] = words;
  report["events"] = to_json(read_attempt(rank_.end()));
  return report;
}

}  // namespace nnd::cli

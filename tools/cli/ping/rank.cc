#include "cli/ping/rank.h"

#include <poll.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "cli/common/environment.h"
#include "cli/common/parts.h"
#include "driver/error.h"

namespace nnd::cli {

namespace fs = std::filesystem;
using driver::Clock;
using nlohmann::json;

namespace {

constexpr int kRankTickMs = 2;
constexpr std::chrono::milliseconds kRankLoadPatience{60000};
constexpr std::chrono::milliseconds kEndPatience{3000};
constexpr int kWarn = 2;  // NCCL's log level

driver::RankOptions options_of(const RankSetup& setup, const std::string& name,
                               const fs::path& log) {
  driver::RankOptions out;
  out.command = emulator();
  out.command.push_back(rank_program().string());
  const auto plugin = plugin_file();
  const auto path = variable("LD_LIBRARY_PATH");
  out.environment = ping_settings();
  out.environment["LD_LIBRARY_PATH"] =
      plugin.parent_path().string() + (path.empty() ? "" : ":" + path);
  out.environment["NCCL_NET_DIAG_FILE"] = pattern_of(log);
  out.environment["NCCL_NET_DIAG_BLACKBOX"] = "off";
  if (const auto sysfs = variable("NCCL_NET_DIAG_SYSFS"); !sysfs.empty())
    out.environment["NND_RANK_SYSFS"] = sysfs;
  // What would keep the rank from telling.
  out.unset = {"NCCL_NET_DIAG_EVENTS", "NCCL_NET_DIAG_DISABLE", "NCCL_NET_DIAG_MAX_MB", "NCCL_NET"};
  out.output = (setup.scratch / (name + ".out")).string();
  return out;
}

}  // namespace

std::map<std::string, std::string> ping_settings() {
  std::map<std::string, std::string> out{{"NCCL_NET_PLUGIN", "diag"},
                                         {"NCCL_NET_PLUGIN_REF_COUNT", "1"},
                                         {"NCCL_NET_DIAG_INNER", "IB"},
                                         {"NCCL_IB_MERGE_NICS", "0"},
                                         {"NCCL_IB_MQP_RETRY_CNT", "0"}};
  if (variable("NCCL_IB_TIMEOUT").empty()) out["NCCL_IB_TIMEOUT"] = "16";
  return out;
}

PingRank::PingRank(const RankSetup& setup, const std::string& name, PingTick tick)
    : log_(setup.scratch / (name + ".jsonl")),
      tick_(std::move(tick)),
      nccl_(setup.nccl),
      process_(std::make_unique<driver::RankProcess>(name, options_of(setup, name, log_))) {}

json PingRank::ask(json request, std::chrono::milliseconds patience) {
  return ask_both(std::move(request), nullptr, patience).first;
}

std::pair<json, json> PingRank::ask_both(json first, json second,
                                         std::chrono::milliseconds patience) {
  const auto what = first.value("op", "");
  const int one = process_->start(std::move(first));
  const int other = second.is_null() ? 0 : process_->start(std::move(second));
  const auto deadline = Clock::now() + patience;
  std::optional<json> replies[2];
  for (;;) {
    if (!replies[0]) replies[0] = process_->poll(one);
    if (other != 0 && !replies[1]) replies[1] = process_->poll(other);
    // One that failed is enough: the other may never come.
    if (replies[0] && (other == 0 || replies[1] || replies[0]->value("rc", 0) != 0)) break;
    if (replies[1] && replies[1]->value("rc", 0) != 0) break;
    if (const auto why = tick_(); !why.empty()) throw PingStopped(why, false);
    if (Clock::now() >= deadline) throw PingStopped(what + " did not end in time", true);
    ::poll(nullptr, 0, kRankTickMs);
  }
  return {replies[0].value_or(json()), replies[1].value_or(json())};
}

json PingRank::load() {
  const auto loaded = ask({{"op", "load"}, {"nccl", nccl_}, {"plugin", "diag"}}, kRankLoadPatience);
  json out{{"nccl", loaded.at("nccl")},
           {"nccl_path", loaded.at("nccl_path")},
           {"net_version", loaded.at("net_version")},
           {"plugin", loaded.at("path")},
           {"devices", json::array()}};
  const auto init = ask({{"op", "init"}}, kRankLoadPatience);
  out["init_rc"] = init.at("rc");
  out["context"] = init.value("context", 0);
  if (init.at("rc") != 0) return out;
  const auto devices = ask({{"op", "devices"}}, kRankLoadPatience);
  const int count = devices.at("rc") == 0 ? devices.at("count").get<int>() : 0;
  for (int dev = 0; dev < count; ++dev)
    out["devices"].push_back(
        ask({{"op", "properties"}, {"dev", dev}}, kRankLoadPatience).at("properties"));
  return out;
}

std::string PingRank::last_words() {
  std::string out;
  try {
    const auto logs = ask({{"op", "logs"}}, kEndPatience);
    for (const auto& line : logs.at("lines"))
      // Its own: what the shim says there is in its events.
      if (const auto text = line.at("text").get<std::string>();
          line.at("level") == kWarn && !text.starts_with("NET/DIAG "))
        out = text;
  } catch (const driver::Error&) {
  } catch (const PingStopped&) {
  }
  return out;
}

fs::path PingRank::end() {
  try {
    // A rank that is inside a call of the kernel's answers late; it is not waited for.
    process_->run({{"op", "exit"}}, kEndPatience);
    process_->wait_exit(kEndPatience);
  } catch (const driver::Error&) {
    process_->kill(SIGKILL);
  }
  process_.reset();
  return log_;
}

}  // namespace nnd::cli

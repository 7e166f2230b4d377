// A process that plays NCCL core's part towards the plugin, on this host: a ping's rank.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "driver/rank_process.h"
#include "wire/json_socket.h"

namespace nnd::cli {

// Answers a request that is none of a ping's. stop: asked several times a second; true: it leaves.
using FurtherRequest = std::function<void(wire::JsonSocket&, const nlohmann::json& request,
                                          const std::function<bool()>& stop)>;

struct RankSetup {
  std::string nccl;               // libnccl's file
  std::filesystem::path scratch;  // a directory of this run's own
  FurtherRequest rehearse;        // what is done when "rehearse" is asked; none: it must not be
};

// What ping sets for its ranks beside the plugin, by name. docs/ping.md says why.
std::map<std::string, std::string> ping_settings();

// Told why to stop at once; empty: go on. Called every few milliseconds.
using PingTick = std::function<std::string()>;

class PingRank {
 public:
  // Throws driver::Error where the rank program cannot be started.
  PingRank(const RankSetup& setup, const std::string& name, PingTick tick);

  // The reply. Throws PingStopped, or driver::Error when the rank is gone or says an error.
  nlohmann::json ask(nlohmann::json request, std::chrono::milliseconds patience);
  // Two requests side by side.
  std::pair<nlohmann::json, nlohmann::json> ask_both(nlohmann::json first, nlohmann::json second,
                                                     std::chrono::milliseconds patience);

  // Loads libnccl and the plugin, initialises it, and asks for its devices: {"nccl", "net_version",
  // "nccl_path", "devices": [properties], "init_rc"}.
  nlohmann::json load();

  // Ends the process, or kills it where it does not end; its event log, which may be missing.
  std::filesystem::path end();
  std::string last_words();  // NCCL's last warning, empty where there is none

 private:
  std::filesystem::path log_;
  PingTick tick_;
  std::string nccl_;
  std::unique_ptr<driver::RankProcess> process_;
};

// Asked to stop, or too late: one clause.
class PingStopped : public std::runtime_error {
 public:
  PingStopped(const std::string& what, bool late) : std::runtime_error(what), late_(late) {}
  bool late() const { return late_; }

 private:
  bool late_;
};

}  // namespace nnd::cli

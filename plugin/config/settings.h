// The NCCL_NET_DIAG_* variables, read once per process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nnd::config {

enum class Mode : std::uint8_t { kObserve, kWarn, kEnforce };

// What goes to stderr as well.
enum class Stderr : std::uint8_t { kOff, kError, kWarn };

// How much of ended processes stays in the default place.
struct Keep {
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};
  std::uint64_t files = kAny;  // logs and black boxes
  std::uint64_t mb = 4096;     // MiB of them
  std::uint64_t days = 14;     // since they last changed
};

// Something wrong with the environment: told as a warning, never a reason to stop the job.
struct Complaint {
  std::string variable;
  std::string value;
  std::string problem;  // one sentence
  std::string nearest;  // the known name or value that is closest, or empty
};

inline constexpr const char* kDefaultFile = "/tmp/nccl-net-diag-%u/%h.%p.jsonl";

struct Settings {
  bool disable = false;
  std::string inner = "auto";
  std::string file = kDefaultFile;
  std::uint32_t max_mb = 64;
  Keep keep;
  std::string events;    // globs; empty: all but req.*
  std::string blackbox;  // pattern, "off", or empty: beside the log where that is node-local
  std::string policy;    // file, or empty: the default place
  Mode mode = Mode::kWarn;
  bool mode_given = false;  // MODE was in the environment (a misspelt one counts as enforce)
  double stall_sec = 10;
  double connect_sec = 5;
  Stderr on_stderr = Stderr::kError;
  std::string verbs_lib;
  std::string sysfs = "/sys";
  bool peers = false;             // processes of the job ask each other whom they wait for
  std::string peers_network;      // "10.1.0.0/16": only there; empty: wherever NCCL is
  std::string profiler = "auto";  // "off", or another profiler that ours calls as well
  std::vector<Complaint> complaints;
};

// Reads the process's environment. Thread-safe as long as nobody calls setenv meanwhile.
Settings load_settings();

// One row per variable: name, default, meaning. The settings are read by the same rows.
struct VariableDoc {
  const char* name;
  const char* fallback;
  const char* meaning;
};
const std::vector<VariableDoc>& variable_docs();

}  // namespace nnd::config

#include "cli/check/command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/check/examine.h"
#include "cli/check/result.h"
#include "cli/common/exit_code.h"
#include "cli/common/scratch_dir.h"
#include "softverbs/scenario.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

struct Options {
  std::string policy;
  std::string mode;
  std::string fail_on = "refuse";
  std::string nccl;
  std::string scenario;
  std::string host;
  std::optional<std::size_t> expect_hcas;
  bool json = false;
};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// "2.28.9": 22809, as NCCL counts since 2.9. 0: no version.
int version_code(const std::string& text) {
  std::array<int, 3> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0 && (at == end || *at++ != '.')) return 0;
    const auto parsed = std::from_chars(at, end, parts[i]);
    if (parsed.ec != std::errc() || parts[i] < 0 || parts[i] > 99) return 0;
    at = parsed.ptr;
  }
  return at == end ? parts[0] * 10000 + parts[1] * 100 + parts[2] : 0;
}

// A host of a scenario, laid out in a folder of its own and put into this process's environment.
class EmulatedHost {
 public:
  EmulatedHost(const std::string& file, const std::string& wanted) : dir_("check") {
    const softverbs::Scenario scenario = softverbs::load_scenario(file);
    name_ = wanted.empty() ? scenario.hosts.front().name : wanted;
    const fs::path& dir = dir_.path();
    fs::create_directories(dir / "fabric");
    const auto environment = softverbs::materialize(scenario, name_, dir / "sys", dir / "fabric");
    for (const char* variable :
         {"SOFTVERBS_SCENARIO", "SOFTVERBS_HOST", "SOFTVERBS_DIR", "NCCL_NET_DIAG_SYSFS"})
      setenv(variable, environment.at(variable).c_str(), 1);
    setenv("NCCL_NET_DIAG_VERBS_LIB", (softverbs::library_dir() / "libibverbs.so.1").c_str(), 1);
  }

  const std::string& name() const { return name_; }

 private:
  ScratchDir dir_;
  std::string name_;
};

bool coloured() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         terminal != nullptr && std::string_view(terminal) != "dumb";
}

int check(const Options& options) {
  CheckInput input;
  input.policy = options.policy;
  if (options.mode == "observe") input.mode = config::Mode::kObserve;
  if (options.mode == "warn") input.mode = config::Mode::kWarn;
  if (options.mode == "enforce") input.mode = config::Mode::kEnforce;
  if (!options.nccl.empty()) input.nccl_version = version_code(options.nccl);
  std::optional<EmulatedHost> emulated;
  if (!options.scenario.empty()) emulated.emplace(options.scenario, options.host);
  input.host = emulated ? emulated->name() : host_name();
  CheckDemands demands;
  demands.fail_on = options.fail_on == "warn" ? FailOn::kWarn : FailOn::kRefuse;
  demands.expect_hcas = options.expect_hcas;
  const auto result = check_result(examine(input), demands);
  if (options.json)
    fmt::print("{}\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}", render_check(result, coloured()));
  return result["result"]["exit_code"].get<int>();
}

int run(const Options& options) {
  int code = kNotExamined;
  std::string why;
  try {
    return check(options);
  } catch (const softverbs::ScenarioError& error) {
    code = kWrongCall;
    why = error.what();
  } catch (const PolicyError& error) {
    code = kWrongCall;
    why = error.what();
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (options.json)
    fmt::print("{}\n",
               nlohmann::json{{"v", 1}, {"error", why}, {"result", {{"exit_code", code}}}}.dump(
                   2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print(stderr, "nccl-net-diag check: {}\n", why);
  return code;
}

std::string is_version(const std::string& text) {
  return version_code(text) == 0 ? "\"" + text + "\" is no version like 2.28.9" : std::string();
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* const check = app.add_subcommand(
      "check", "What NCCL would do with this node's HCAs, and why, before any job runs");
  check->add_option("--policy", options->policy,
                    "policy file; by default the one that a job would take");
  check->add_option("--mode", options->mode, "observe, warn or enforce; by default a job's")
      ->check(CLI::IsMember({"observe", "warn", "enforce"}));
  check->add_option("--fail-on", options->fail_on, "what gives exit code 1: warn or refuse")
      ->check(CLI::IsMember({"warn", "refuse"}))
      ->capture_default_str();
  check->add_option("--expect-hcas", options->expect_hcas,
                    "exit code 1 where fewer HCAs are usable");
  check
      ->add_option("--nccl", options->nccl,
                   "the NCCL whose rules count, as 2.28.9; by default the newest known")
      ->check(CLI::Validator(is_version, "VERSION"));
  auto* const scenario = check->add_option("--scenario", options->scenario,
                                           "look at a host of an emulated fabric: a TOML file");
  check->add_option("--host", options->host, "which of the scenario's hosts; by default the first")
      ->needs(scenario);
  check->add_flag("--json", options->json, "the same as JSON");
  check->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace nnd::cli

#include "cli/check/examine.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "nccl_abi/releases.h"
#include "policy/judge.h"
#include "policy/traffic_class.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

void expect_right(const policy::Loaded& loaded) {
  if (loaded.errors.empty()) return;
  std::string text;
  for (const policy::LoadError& error : loaded.errors)
    text += (text.empty() ? "" : "\n") + error.text();
  throw CallError(kWrongCall, "policy", text, loaded.errors.front().file);
}

// As NCCL looks for it: NCCL_IBVERBS_LIB from 2.30.3 on, then the two names. What the shim is told
// to forward to goes before all.
std::vector<std::string> libraries(const config::Settings& settings,
                                   const facts::Environment& environment, int nccl_version) {
  if (!settings.verbs_lib.empty()) return {settings.verbs_lib};
  std::vector<std::string> out;
  const std::string* named = environment.get("NCCL_IBVERBS_LIB");
  if (named && !named->empty() && nccl_abi::kReadsIbverbsLib.has(nccl_version))
    out.push_back(*named);
  out.insert(out.end(), {"libibverbs.so", "libibverbs.so.1"});
  return out;
}

verbs::Survey look(const config::Settings& settings, const facts::Sources& sources) {
  std::error_code ignored;
  if (!fs::is_directory(settings.sysfs, ignored))
    throw CallError(kNotExamined, "sysfs", settings.sysfs + " is no folder: sysfs can't be read");
  verbs::Survey survey =
      verbs::survey(libraries(settings, sources.environment, sources.nccl_version));
  if (!settings.verbs_lib.empty() && !survey.problem.empty())
    throw CallError(kNotExamined, "libibverbs", "NCCL_NET_DIAG_VERBS_LIB: " + survey.problem);
  // A kernel without RDMA answers ENOSYS.
  if (survey.list_errno != 0 && survey.list_errno != ENOSYS)
    throw CallError(kNotExamined, "libibverbs",
                    fmt::format("ibv_get_device_list: {}", std::strerror(survey.list_errno)));
  return survey;
}

// A file of another user's could name a library, which is then run as root (sudo keeps HOME).
bool not_for_root(const std::string& file) {
  struct stat about {};
  return geteuid() == 0 && (stat(file.c_str(), &about) != 0 || about.st_uid != 0);
}

// NCCL puts its files' values into the environment before it loads a plugin: where there is none
// yet, the user's file first.
void take_conf_files() {
  const facts::Environment environment = facts::Environment::of_process();
  const std::string* home = environment.get("HOME");
  const facts::System system =
      facts::read_system({facts::FileTree("/sys"), "", home ? *home : std::string(), environment});
  for (const facts::ConfFile& file : system.conf_files) {
    if (not_for_root(file.path)) continue;
    for (const auto& [name, value] : file.values)
      if (value != "<hidden>") setenv(name.c_str(), value.c_str(), 0);
  }
}

}  // namespace

Checked examine(const CheckInput& input) {
  const auto start = std::chrono::steady_clock::now();
  Checked out;
  out.host = input.host;
  take_conf_files();
  out.settings = config::load_settings();
  if (input.policy.empty()) {
    auto in_force = policy::in_force(std::move(out.settings), input.standing);
    out.settings = std::move(in_force.settings);
    out.policy = std::move(in_force.loaded);
  } else {
    out.policy = policy::load_policy_file(input.policy);
  }
  expect_right(out.policy);
  auto sources = facts::Sources::of_process(out.settings, input.nccl_version);
  sources.whole_pci_bus = true;
  out.survey = look(out.settings, sources);
  for (const facts::VerbsDevice& device : out.survey.devices)
    if (device.dmabuf_errno >= 0) sources.dmabuf_errno[device.name] = device.dmabuf_errno;
  out.node = facts::collect(out.survey.devices, sources);
  const policy::Mode mode =
      input.mode.value_or(policy::effective_mode(out.policy.policy, out.settings));
  out.judgement = policy::judge_node(out.node, out.policy.policy, mode, out.host);
  policy::judge_traffic_class(out.node, out.policy.policy.for_host(out.host), sources.environment,
                              out.judgement);
  policy::fill_places(out.node, out.judgement);
  out.lint = policy::lint_environment(out.node, sources.environment);
  if (input.inside && out.settings.sysfs == "/sys")
    out.inside = look_inside(out.node, "", variable);
  out.took_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace nnd::cli

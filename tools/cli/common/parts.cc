#include "cli/common/parts.h"

#include <fmt/format.h>

#include <sstream>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "softverbs/belonging.h"
#include "softverbs/scenario.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

void require(const fs::path& file, const char* what, const char* package) {
  std::error_code ignored;
  if (fs::exists(file, ignored)) return;
  throw CallError(kNotExamined, "parts",
                  fmt::format("{} is not installed: install the package {} ({} is not there)", what,
                              package, file.string()),
                  file.string());
}

constexpr const char* kEmulation = "nccl-net-diag-emulation";

}  // namespace

fs::path plugin_file() { return softverbs::belonging(NND_PLUGIN_INSTALLED, NND_PLUGIN_BUILT); }
fs::path rank_program() { return softverbs::belonging(NND_RANK_INSTALLED, NND_RANK_BUILT); }
fs::path gpu_runtime_file() {
  return softverbs::belonging(NND_SOFTCUDA_INSTALLED, NND_SOFTCUDA_BUILT);
}

void require_plugin() { require(plugin_file(), "the plugin", "nccl-net-diag"); }

void require_rank_program() {
  require(rank_program(), "the program of a rank", "nccl-net-diag-tools");
}

void require_emulated_fabric() {
  require(softverbs::library_dir() / "libibverbs.so.1", "the emulated fabric", kEmulation);
}

void require_gpu_runtime() {
  require(gpu_runtime_file(), "what plays a program's GPUs", kEmulation);
}

std::vector<std::string> emulator() {
  std::istringstream in(variable("NND_EMULATOR"));
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

}  // namespace nnd::cli

#include "cli/rehearse/own_hcas.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace fs = std::filesystem;

void require_hca() {
  const auto given = variable("NCCL_NET_DIAG_SYSFS");
  const fs::path infiniband = fs::path(given.empty() ? "/sys" : given) / "class/infiniband";
  std::error_code error;
  if (fs::is_directory(infiniband, error) && !fs::is_empty(infiniband, error)) return;
  throw CallError(
      kNotExamined, "no-hca",
      fmt::format("this host has no HCA ({} is empty or missing): NCCL would go over TCP; "
                  "--scenario rehearses on an emulated fabric",
                  infiniband.string()));
}

}  // namespace nnd::cli

#include "cli/common/scratch_dir.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <system_error>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace fs = std::filesystem;

ScratchDir::ScratchDir(const std::string& name) {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);  // is a directory, or an error
  auto pattern = (temporary / ("nccl-net-diag-" + name + ".XXXXXX")).string();
  if (!error && mkdtemp(pattern.data()) == nullptr) error = {errno, std::generic_category()};
  if (error)
    throw CallError(
        kNotExamined, "temporary-directory",
        fmt::format("nothing can be written in {}: {}; TMPDIR names another directory",
                    temporary.empty() ? variable("TMPDIR") : temporary.string(), error.message()));
  path_ = pattern;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

}  // namespace nnd::cli

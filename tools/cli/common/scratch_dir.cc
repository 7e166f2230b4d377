#include "cli/common/scratch_dir.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

namespace nnd::cli {

namespace fs = std::filesystem;

ScratchDir::ScratchDir(const std::string& name) {
  auto pattern = (fs::temp_directory_path() / ("nccl-net-diag-" + name + ".XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), pattern);
  path_ = pattern;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

}  // namespace nnd::cli

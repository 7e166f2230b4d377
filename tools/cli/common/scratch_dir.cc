#include "cli/common/scratch_dir.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMemory = "/dev/shm";

// NCCL's own shared memory needs some of it too.
bool memory_has_room() {
  constexpr std::uint64_t kRoom = std::uint64_t{1} << 30;
  struct statvfs there {};
  return access(kMemory, W_OK | X_OK) == 0 && statvfs(kMemory, &there) == 0 &&
         std::uint64_t{there.f_bavail} * there.f_frsize >= kRoom;
}

fs::path parent_for(ScratchDir::Content content, std::error_code& error) {
  const bool small = content == ScratchDir::Content::kManySmallFiles;
  if (small && variable("TMPDIR").empty() && memory_has_room()) return kMemory;
  return fs::temp_directory_path(error);  // is a directory, or an error
}

}  // namespace

ScratchDir::ScratchDir(const std::string& name, Content content) {
  std::error_code error;
  const fs::path temporary = parent_for(content, error);
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

// A directory of this run's own for what is temporary.
#pragma once

#include <filesystem>
#include <string>

namespace nnd::cli {

class ScratchDir {
 public:
  // Thousands of small files that nobody looks at afterwards, as of emulated hosts, are in memory
  // (/dev/shm) where that has room and TMPDIR says nothing: a disk's file system takes longer to
  // make them than a job on these hosts to run.
  enum class Content { kAny, kManySmallFiles };

  // <temporary directory>/nccl-net-diag-<name>.XXXXXX, for the user alone. Throws CallError.
  explicit ScratchDir(const std::string& name, Content content = Content::kAny);
  ~ScratchDir();  // takes it away with all in it, unless it is to stay
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep() { keep_ = true; }

 private:
  std::filesystem::path path_;
  bool keep_ = false;
};

}  // namespace nnd::cli

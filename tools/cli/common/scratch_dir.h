// A directory of this run's own under the temporary directory.
#pragma once

#include <filesystem>
#include <string>

namespace nnd::cli {

class ScratchDir {
 public:
  // <temporary directory>/nccl-net-diag-<name>.XXXXXX, for the user alone. Throws
  // std::system_error.
  explicit ScratchDir(const std::string& name);
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

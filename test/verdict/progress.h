// Whether a job's logs still grow by what a job does: a wait that gets older is no progress.
#pragma once

#include <filesystem>
#include <map>

namespace nnd::verdict {

class Progress {
 public:
  // logs: a directory, of which it reads the .jsonl files, on from where it was.
  explicit Progress(std::filesystem::path logs) : logs_(std::move(logs)) {}

  bool made();                                 // since the last call
  bool connects() const { return connects_; }  // somebody has a connection, or tried to

 private:
  const std::filesystem::path logs_;
  std::map<std::filesystem::path, std::streamoff> read_;
  bool connects_ = false;
};

}  // namespace nnd::verdict

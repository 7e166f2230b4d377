// A file that the user named for a result.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace nnd::cli {

// How the files begin that are written.
inline constexpr std::string_view kPageStart = "<!DOCTYPE html>";
inline constexpr std::string_view kTraceStart = "{\"traceEvents\":";

// Opened before the work, so that nobody waits for what can't be kept. A file that holds something
// else than an earlier result stays as it is: `report --html *.jsonl` names a log.
class OutputFile {
 public:
  // path: empty where none is wanted. Throws CallError.
  OutputFile(std::string path, std::string_view start);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // False where it doesn't take it, which is told on standard error: the result is shown anyway.
  bool write(const std::function<void(std::ostream&)>& writer) const;

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace nnd::cli

// Reads event logs line by line. What is no event, what is cut off and what is too long is counted
// and left out; only a file that cannot be read at all is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "log/event.h"
#include "log/line_parser.h"
#include "log/source.h"

namespace nnd::log {

struct Counts {
  std::uint64_t files = 0;
  std::uint64_t events = 0;
  std::uint64_t foreign = 0;    // lines that are no events of ours
  std::uint64_t truncated = 0;  // last lines without an end: the writer came no further
  std::uint64_t too_long = 0;   // lines beyond kLongestLine
  std::uint64_t newer = 0;  // events of a schema that this program doesn't know, read all the same
  std::uint64_t unreadable = 0;  // files of a directory that could not be opened

  Counts& operator+=(const Counts& other);
};

using EventSink = std::function<void(const Event&)>;

// One log. Keeps its place, so that a log that grows can be read on. One thread at a time.
class LogFile {
 public:
  // Throws ReadError where it cannot be opened or is no regular file.
  explicit LogFile(const std::filesystem::path& path);
  // From this byte on, of one that is not compressed: where place() was when it was read before.
  LogFile(const std::filesystem::path& path, std::uint64_t from);

  // Hands over the events of all lines that are there now and were not there before. A file that
  // has no event among its first 64 MiB is given up. Throws ReadError. stop: asked now and then,
  // and then it is enough.
  void read(LineParser& parser, const EventSink& sink, const std::function<bool()>& stop = {});
  // So far; a last line without an end counts as truncated.
  Counts counts() const;
  // Behind the last whole line that was read.
  std::uint64_t place() const { return place_; }
  bool compressed() const { return source_->compressed(); }

 private:
  void take_lines(LineParser& parser, const EventSink& sink);

  std::unique_ptr<Source> source_;
  std::string buffer_;  // what is of no whole line yet, then room and padding
  std::size_t used_ = 0;
  std::uint64_t place_ = 0;
  bool skipping_ = false;  // inside a line that is too long
  Counts counts_;
  Event event_;
};

// The *.jsonl of a directory, in natural order (rank2 before rank10). Throws ReadError.
std::vector<std::filesystem::path> logs_in(const std::filesystem::path& directory);

// The events of files, and of all logs of directories, in that order. Throws ReadError for a path
// that is named and cannot be read.
Counts read_logs(const std::vector<std::filesystem::path>& paths, const EventSink& sink);

}  // namespace nnd::log

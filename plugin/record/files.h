// The files of one recorder: the event log and the black box.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "config/settings.h"
#include "record/safe_file.h"

namespace nnd::record {

class Box;

class Files {
 public:
  // What the environment says of their places. Throws bad_alloc.
  explicit Files(const config::Settings& settings);

  // Open what can be opened and tell NCCL's logger what can't. A file system may take as long as it
  // likes. Throw bad_alloc.
  void open_log();
  void open_box(Box& box);
  // One of the two files for the last lines of healthy connections; -1: there is none.
  int open_tail(std::size_t half) noexcept;
  // Old logs and boxes, where these lie in the place that nobody chose.
  void sweep_default_place() const noexcept;
  void remove_box() noexcept { box_file_.remove(); }
  void close() noexcept;

  const std::string& host() const { return fields_.host; }
  int log_fd() const { return log_.fd; }  // -1: there is none
  bool log_is_regular() const { return regular_; }
  const std::string& log_path() const { return log_.path; }
  // One clause: where the log is, or why there is none.
  const std::string& place() const { return place_; }

 private:
  SafeFile create_box();

  PathFields fields_;
  std::string log_pattern_, box_pattern_, runtime_dir_;
  std::string place_;
  SafeFile log_;
  SafeFile box_file_;
  std::array<SafeFile, 2> tails_;
  bool regular_ = false;
  bool log_by_default_ = false, box_by_default_ = false;  // in the place that nobody chose
  config::Keep keep_;
};

}  // namespace nnd::record

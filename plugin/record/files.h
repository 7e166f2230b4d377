// The files of one recorder: the event log and the black box.
#pragma once

#include <string>

#include "config/settings.h"
#include "record/box.h"
#include "record/drain.h"
#include "record/safe_file.h"

namespace nnd::record {

class Files {
 public:
  // Opens what can be opened; tells NCCL's logger what can't. Throws bad_alloc, also when there is
  // no memory for the rings.
  void open(const config::Settings& settings, Box& box);
  // Old logs and boxes beside them.
  void sweep_beside() const noexcept;
  void remove_box() noexcept { box_file_.remove(); }
  void close() noexcept;

  const std::string& host() const { return host_; }
  std::string log_path() const { return log_.path; }
  // One clause: where the log is, or why there is none.
  const std::string& place() const { return place_; }
  DrainTarget drain_target() const;

 private:
  void open_log(const config::Settings& settings, const PathFields& fields);
  void open_box(const config::Settings& settings, const PathFields& fields, Box& box);

  std::string host_;
  std::string place_;
  SafeFile log_;
  SafeFile box_file_;
  bool regular_ = false;
  config::Keep keep_;
};

}  // namespace nnd::record

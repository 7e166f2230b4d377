// Trouble at run time: commands that every process of a fabric follows, in a file of the fabric's
// directory that only grows. A process that starts later reads it from the beginning, so a link
// that is down stays down.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace softverbs {

// One writer or many, from any process; each command is one append. Throws std::system_error.
class Control {
 public:
  explicit Control(std::filesystem::path fabric_dir);

  void set_link(const std::string& host, const std::string& hca, int port, bool up);
  void set_lost(const std::string& host, bool lost);
  // An async event for every process that has the device open; event: enum ibv_event_type.
  void raise_event(const std::string& host, const std::string& hca, int port, int event);

 private:
  void append(const std::string& line);
  std::filesystem::path file_;
};

struct ControlCommand {
  enum class Kind { kLink, kLost, kEvent } kind = Kind::kLink;
  std::string host;
  std::string hca;
  int port = 0;
  int value = 0;  // kLink: up; kLost: lost; kEvent: the event
};

// Follows the file. Not thread-safe.
class ControlReader {
 public:
  explicit ControlReader(const std::filesystem::path& fabric_dir);  // makes the file if need be
  ~ControlReader();
  ControlReader(const ControlReader&) = delete;
  ControlReader& operator=(const ControlReader&) = delete;

  int notify_fd() const { return notify_; }  // readable when there is something new
  std::vector<ControlCommand> read_new();

 private:
  int file_ = -1;
  int notify_ = -1;
  std::string rest_;  // a line that is not complete yet
};

std::filesystem::path control_file(const std::filesystem::path& fabric_dir);

}  // namespace softverbs

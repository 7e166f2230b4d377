// Where the tasks of a rehearsal meet: task 0 listens, the others connect. It hands out the
// communicator's identity and collects what each task has to report. Nothing blocks but connect().
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/json_socket.h"
#include "cli/common/tcp.h"

namespace nnd::cli {

// "host:port" or "[::1]:port". Throws CallError.
TcpAddress parse_root(const std::string& text);

// Task 0's side.
class MeetingPlace {
 public:
  // Listens on this host's address of that name. welcome: told to each task that comes. Throws
  // CallError.
  MeetingPlace(const TcpAddress& root, int tasks, nlohmann::json welcome);
  ~MeetingPlace();
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;

  // Lets tasks in, hears what they say. To be called several times a second.
  void attend();
  void hand_out_id(const std::string& id);
  void call_off();  // tells all that the job is over

  int arrived() const { return static_cast<int>(guests_.size()); }  // of tasks - 1
  // Tasks that left without a report.
  std::vector<int> lost() const;
  // What the others reported, by task.
  const std::map<int, nlohmann::json>& reports() const { return reports_; }
  // All that have come have reported or left; complete: and all have come.
  bool all_told() const { return reports_.size() + lost().size() == guests_.size(); }
  bool complete() const { return arrived() == tasks_ - 1 && all_told(); }

 private:
  void admit(JsonSocket& socket, const nlohmann::json& hello);

  int fd_ = -1;
  const int tasks_;
  const nlohmann::json welcome_;
  std::optional<std::string> id_;
  std::vector<JsonSocket> strangers_;  // connected, not yet known
  std::map<int, JsonSocket> guests_;   // by task
  std::map<int, nlohmann::json> reports_;
};

// The other tasks' side.
class Visit {
 public:
  using Clock = std::chrono::steady_clock;

  // Tries until task 0 is there and has said welcome. Throws CallError at the deadline or when
  // `stop` is true.
  Visit(const TcpAddress& root, int task, Clock::time_point deadline,
        const std::function<bool()>& stop);

  const nlohmann::json& welcome() const { return welcome_; }
  std::optional<std::string> id();           // once it is there
  bool over();                               // called off, or task 0 is gone
  void report(const nlohmann::json& value);  // the last thing said

 private:
  void listen();

  std::optional<JsonSocket> socket_;
  nlohmann::json welcome_;
  std::optional<std::string> id_;
  bool called_off_ = false;
};

}  // namespace nnd::cli

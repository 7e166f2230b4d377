// How the tasks of a rehearsal work together: task 0 listens, the others call it. It hands out the
// communicator's identity and collects what each task has to report. Task 0 says {"welcome":
// {...}}, then {"id"} and perhaps {"end"}; a task says {"report": its part}.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/exchange/listener.h"
#include "cli/rehearse/task_report.h"

namespace nnd::cli {

using Tell = std::function<void(const std::string&)>;  // one line of progress

// "host:port" or "[::1]:port". Throws CallError.
TcpAddress parse_root(const std::string& text);

// Task 0's side. Nothing blocks.
class Coordinator {
 public:
  // Listens where a Listener does. fabric: told to each task that comes. tell: about
  // whoever is no task. Throws CallError.
  Coordinator(const TcpAddress& root, const std::string& token, int tasks, std::string fabric,
              Tell tell);

  // Lets tasks in, hears what they say. To be called several times a second.
  void attend();
  void hand_out_id(const std::string& id);
  void call_off();  // tells all that the job is over

  int arrived() const { return static_cast<int>(tasks_.size()); }  // of the others
  // Tasks that left without a report.
  std::vector<int> lost() const;
  // What the others reported, by task. A report that makes no sense is a failure of that task.
  const std::map<int, TaskReport>& reports() const { return reports_; }
  // All that have come have reported or left; complete: and all have come.
  bool all_told() const { return reports_.size() + lost().size() == tasks_.size(); }
  bool complete() const { return arrived() == count_ - 1 && all_told(); }

 private:
  void admit(Listener::Caller caller);

  const int count_;
  const std::string fabric_;
  Tell tell_;
  Listener listener_;
  std::optional<std::string> id_;
  std::map<int, wire::JsonSocket> tasks_;
  std::map<int, TaskReport> reports_;
};

// The other tasks' side.
class Participant {
 public:
  // Tries until task 0 is there and has said welcome. Throws CallError at the deadline or when
  // `stop` is true.
  Participant(const TcpAddress& root, const std::string& token, int task,
              Clock::time_point deadline, const std::function<bool()>& stop);

  const std::string& fabric() const { return fabric_; }
  std::optional<std::string> id();      // once it is there
  bool over();                          // called off, or task 0 is gone
  void report(const TaskReport& part);  // the last thing said

 private:
  void listen();

  wire::JsonSocket socket_;
  std::string fabric_;
  std::optional<std::string> id_;
  bool called_off_ = false;
};

}  // namespace nnd::cli

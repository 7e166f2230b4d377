#include "cli/rehearse/coordinator.h"

#include <fmt/format.h>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

Meeting meeting_with(const std::string& token) {
  return {.service = "rehearse", .token = token, .error_kind = "root", .hint = ""};
}

wire::JsonSocket call_root(const TcpAddress& root, const std::string& token, int task,
                           Clock::time_point deadline, const std::function<bool()>& stop) {
  try {
    return call_listener(root, meeting_with(token), {{"task", task}}, deadline, stop);
  } catch (const CallError& error) {
    if (error.kind() != "refused") throw;
    throw CallError(error.exit_code(), error.kind(),
                    fmt::format("task 0 at {}; where the hosts share no home directory, give all "
                                "tasks one token with NCCL_NET_DIAG_TOKEN or --token-file",
                                error.what()),
                    root.text());
  }
}

TaskReport read_report(int task, const json& report) {
  try {
    return task_report_from(Fields(report));
  } catch (const BadMessage& bad) {
    TaskReport out;
    out.failures.push_back(
        fmt::format("task {} sent a report that makes no sense: {}", task, bad.what()));
    return out;
  }
}

}  // namespace

TcpAddress parse_root(const std::string& text) {
  if (auto root = parse_tcp_address(text, "")) return *root;
  throw CallError(kWrongCall, "root", fmt::format("\"{}\" is no HOST:PORT", text), text);
}

Coordinator::Coordinator(const TcpAddress& root, const std::string& token, int tasks,
                         std::string fabric, Tell tell)
    : count_(tasks),
      fabric_(std::move(fabric)),
      tell_(std::move(tell)),
      listener_(root, meeting_with(token)) {}

void Coordinator::admit(Listener::Caller caller) {
  const auto number = caller.about.value("task", json());
  const auto task = number.is_number_unsigned() ? number.get<std::uint64_t>() : 0;
  if (task == 0 || task >= static_cast<std::uint64_t>(count_) ||
      tasks_.contains(static_cast<int>(task))) {
    tell_(fmt::format("{} says that it is a task which this job has not, or has already.",
                      caller.address));
    return;
  }
  caller.socket.send({{"welcome", {{"fabric", fabric_}}}});
  if (id_) caller.socket.send({{"id", *id_}});
  tasks_.emplace(static_cast<int>(task), std::move(caller.socket));
}

void Coordinator::attend() {
  while (auto caller = listener_.attend(tell_)) admit(std::move(*caller));
  for (auto& [task, socket] : tasks_)
    while (const auto said = socket.receive())
      if (said->contains("report") && !reports_.contains(task))
        reports_.emplace(task, read_report(task, said->at("report")));
}

void Coordinator::hand_out_id(const std::string& id) {
  id_ = id;
  for (auto& [task, socket] : tasks_) socket.send({{"id", id}});
}

void Coordinator::call_off() {
  for (auto& [task, socket] : tasks_) socket.send({{"end", true}});
}

std::vector<int> Coordinator::lost() const {
  std::vector<int> out;
  for (const auto& [task, socket] : tasks_)
    if (socket.closed() && !reports_.contains(task)) out.push_back(task);
  return out;
}

Participant::Participant(const TcpAddress& root, const std::string& token, int task,
                         Clock::time_point deadline, const std::function<bool()>& stop)
    : socket_(call_root(root, token, task, deadline, stop)) {
  constexpr auto kTick = std::chrono::milliseconds(100);
  for (;;) {
    if (const auto said = socket_.receive(std::min(deadline, Clock::now() + kTick))) {
      try {
        fabric_ = Fields(*said).object("welcome").text("fabric");
        return;
      } catch (const BadMessage& bad) {
        throw CallError(kNotExamined, "root",
                        fmt::format("task 0 at {} makes no sense: {}", root.text(), bad.what()));
      }
    }
    if (stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (socket_.closed() || Clock::now() >= deadline)
      throw CallError(kNotExamined, "root",
                      fmt::format("task 0 at {} did not say welcome: {}", root.text(),
                                  socket_.closed() ? socket_.why() : "it says nothing"),
                      root.text());
  }
}

void Participant::listen() {
  while (const auto said = socket_.receive()) {
    if (const auto id = said->find("id"); id != said->end() && id->is_string())
      id_ = id->get<std::string>();
    if (said->contains("end")) called_off_ = true;
  }
}

std::optional<std::string> Participant::id() {
  listen();
  return id_;
}

bool Participant::over() {
  listen();
  return called_off_ || socket_.closed();
}

void Participant::report(const TaskReport& part) { socket_.send({{"report", to_json(part)}}); }

}  // namespace nnd::cli

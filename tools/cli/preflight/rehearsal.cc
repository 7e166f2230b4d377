#include "cli/preflight/rehearsal.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "cli/common/call_error.h"
#include "cli/common/checked_json.h"
#include "cli/common/environment.h"
#include "cli/common/parts.h"
#include "cli/rehearse/run.h"
#include "cli/rehearse/unplayed.h"

namespace nnd::cli {

using nlohmann::json;
using wire::Clock;

namespace {

constexpr int kMostTasks = 1 << 20;
constexpr int kReportTickMs = 10;
// The others may know more than that one failed; then a rank takes some seconds to end.
constexpr auto kOthersGrace = std::chrono::seconds(3);
constexpr auto kEndPatience = std::chrono::seconds(10);

// Small, middle and large: NCCL has another protocol for each.
RehearsePlan short_plan(const RankSetup& setup, int tasks, double seconds) {
  RehearsePlan plan;
  plan.nccl = setup.nccl;
  plan.nodes = tasks;
  plan.sizes = {"1K", "64K", "1M"};
  plan.iterations = 2;
  plan.deadline_sec = seconds;
  plan.plugin = plugin_file().parent_path().string();
  plan.log_dir = (setup.scratch / "rehearsal").string();
  return plan;
}

// One host's side.
class OwnTask {
 public:
  OwnTask(wire::JsonSocket& socket, const std::function<bool()>& stop)
      : socket_(socket), stop_(stop) {}

  TaskReport play(const RankSetup& setup, const Fields& asked) {
    const int tasks = asked.number<int>("tasks", 2, kMostTasks);
    const int task = asked.number<int>("task", 0, tasks - 1);
    refuse_unplayed(variable, false);
    RehearseRun run;
    // Whoever asks says when it is over; this is for a rank that nobody ends.
    constexpr double kBeyond = 30;
    run.plan = short_plan(setup, tasks, asked.real("seconds") + kBeyond);
    run.progress = [](const json&) {};
    std::filesystem::create_directories(run.plan.log_dir);
    return run_own_task(run, task,
                        {.hand_out_id =
                             [this](const std::string& id) {
                               socket_.send({{"id", id}});
                             },
                         .get_id =
                             [this] {
                               listen();
                               return id_;
                             },
                         .over =
                             [this] {
                               listen();
                               return over_ || stop_();
                             }});
  }

 private:
  void listen() {
    while (const auto said = socket_.receive()) {
      if (auto id = Fields(*said).text_if("id"))
        id_ = std::move(id);
      else
        over_ = true;
    }
    over_ = over_ || socket_.closed();
  }

  wire::JsonSocket& socket_;
  const std::function<bool()>& stop_;
  std::optional<std::string> id_;
  bool over_ = false;
};

// The side that asks.
class Rehearser {
 public:
  Rehearser(const std::vector<Player>& players, const std::function<bool()>& stop)
      : players_(players), stop_(stop) {
    for (const Player& player : players) job_.tasks.push_back({player.host, {}, "", ""});
  }

  ShortJob run(double seconds) {
    job_.seconds = seconds;
    for (std::size_t i = 0; i < players_.size(); ++i)
      players_[i].socket->send(
          {{"do", "rehearse"}, {"task", i}, {"tasks", players_.size()}, {"seconds", seconds}});
    const auto deadline = Clock::now() + as_duration(seconds);
    while (!all_told()) {
      const auto now = Clock::now();
      for (std::size_t i = 0; i < players_.size(); ++i) hear(i);
      if (failed_at_ == kNever && any_failed()) failed_at_ = now;
      job_.interrupted = job_.interrupted || stop_();
      if (!over_ && now >= deadline) job_.late = true;
      if (!over_ && (job_.late || job_.interrupted || now - kOthersGrace >= failed_at_)) call_off();
      if (over_ && now >= *over_ + kEndPatience) break;
      poll(nullptr, 0, kReportTickMs);
    }
    return std::move(job_);
  }

 private:
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  static Clock::duration as_duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  bool all_told() const {
    return std::all_of(job_.tasks.begin(), job_.tasks.end(),
                       [](const PlayedTask& task) { return task.told(); });
  }
  bool any_failed() const {
    return std::any_of(job_.tasks.begin(), job_.tasks.end(),
                       [](const PlayedTask& task) { return task.told() && !task.fine(); });
  }

  void hear(std::size_t i) {
    auto& task = job_.tasks[i];
    auto& socket = *players_[i].socket;
    try {
      while (!task.told())
        if (const auto said = socket.receive())
          take(i, Fields(*said));
        else
          break;
    } catch (const BadMessage& bad) {
      task.gone = std::string("it answered what makes no sense: ") + bad.what();
    }
    if (!task.told() && socket.closed()) task.gone = socket.why();
  }

  void take(std::size_t from, const Fields& said) {
    auto& task = job_.tasks[from];
    if (const auto id = said.text_if("id")) {
      for (std::size_t i = 0; i < players_.size(); ++i)
        if (i != from) players_[i].socket->send({{"id", *id}});
    } else if (auto why = said.text_if("cannot")) {
      task.cannot = std::move(*why);
    } else if (auto left = said.text_if("left")) {
      task.gone = std::move(*left);
    } else {
      task.part = task_report_from(said.object("report"));
    }
  }

  void call_off() {
    over_ = Clock::now();
    for (std::size_t i = 0; i < players_.size(); ++i)
      if (!job_.tasks[i].told()) players_[i].socket->send({{"over", true}});
  }

  const std::vector<Player>& players_;
  const std::function<bool()>& stop_;
  Clock::time_point failed_at_ = kNever;
  std::optional<Clock::time_point> over_;
  ShortJob job_;
};

}  // namespace

FurtherRequest take_part_in(const RankSetup& setup) {
  return [nccl = setup.nccl, scratch = setup.scratch](wire::JsonSocket& socket, const json& request,
                                                      const std::function<bool()>& stop) {
    try {
      const RankSetup own{nccl, scratch, {}};
      socket.send({{"report", to_json(OwnTask(socket, stop).play(own, Fields(request)))}});
    } catch (const std::exception& error) {  // of the call, the file system, the message
      socket.send({{"cannot", error.what()}});
    }
  };
}

ShortJob rehearse_between(const std::vector<Player>& players, double seconds,
                          const std::function<bool()>& stop) {
  return Rehearser(players, stop).run(seconds);
}

}  // namespace nnd::cli

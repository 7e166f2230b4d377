// Ends a job as its world would: a watchdog in each rank, a launcher, a scheduler, a user.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "verdict/case.h"
#include "verdict/dice.h"
#include "verdict/moments.h"
#include "verdict/progress.h"

namespace nnd::verdict {

class Director {
 public:
  // look: called once where the job is looked at live, which then is over. fabric, logs: its
  // directories. moments: filled, and to outlive this.
  Director(const Case& one, std::filesystem::path fabric, const std::filesystem::path& logs,
           Moments& moments, std::function<void()> look);

  void hear(const nlohmann::json& event);  // softcuda::JobProgress
  bool step();                             // softcuda::JobStop

 private:
  using Clock = std::chrono::steady_clock;
  struct Deed {
    Clock::time_point at;
    int rank, signal;
  };

  void look_for_fault();
  void look_for_progress();
  void do_deed(const Deed& deed);
  bool struck() const;
  bool quiet(double seconds) const;
  double patience() const;  // seconds
  std::set<int> alive() const;
  bool waits(int rank) const;
  void plan(int rank, int signal, double in_seconds);
  void plan_all(int signal, double in_seconds);
  void end_all(double in_seconds, double grace);
  void lose_node();
  void decide();
  double between(double low, double high);

  const Case& case_;
  const std::filesystem::path fabric_;
  Moments& moments_;
  const std::function<void()> look_;
  Progress progress_;
  Dice dice_;
  std::map<int, pid_t> pids_;
  std::map<int, int> told_;
  std::set<int> ended_, done_;
  std::optional<Clock::time_point> failed_;  // the first rank has
  Clock::time_point last_ = Clock::now(), read_logs_ = last_;
  std::vector<Deed> deeds_;
  bool planned_ = false, lost_ = false, met_ = false;
  double patience_;
  double grace_ = 0;  // seconds, from SIGTERM to SIGKILL
};

}  // namespace nnd::verdict

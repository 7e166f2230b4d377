// Signs of life of a job that is being run, on stderr.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/common/calling.h"

namespace nnd::cli {

class JobProgress {
 public:
  JobProgress(const Calling& calling, double deadline_sec);

  // What rank 0 has done (softcuda/rank.h's events); others' are not shown.
  void show(const nlohmann::json& event) const;
  // Asked several times a second: whether the job is to stop, since the user said so.
  bool stop();
  std::string interrupted() const;  // the verdict on one that the user ended

 private:
  double seconds() const;  // since the beginning

  bool quiet_;
  double deadline_sec_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int told_ = 0;
};

}  // namespace nnd::cli

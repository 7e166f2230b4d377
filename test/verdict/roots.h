// Each log alone: whether the last that it says of whom the job waits for is the truth.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "verdict/case.h"
#include "verdict/moments.h"
#include "verdict/root_log.h"

namespace nnd::verdict {

enum class RootClass {
  kRight,      // the guilty rank, node or port, and what is with it
  kHonest,     // one of the ends, where nothing tells which; or this release does not tell who
  kVague,      // nothing false, and the guilty is not told from its peer, or has another story
  kWrong,      // somebody else is named
  kEcho,       // somebody who only failed or ended of it
  kSilent,     // nobody is named, and there was the time for it
  kAccused,    // the network, which is innocent
  kAcquitted,  // the network, which is guilty
  kAlarm,      // somebody is named where nothing was wrong
  kDrawn,      // a healthy job's slow rank, as it was drawn
  kNotDue,     // nobody need be named: this rank did not wait, or not for long enough
};
inline constexpr int kRootClasses = 11;
std::string name_of(RootClass judged);

struct RootJudgement {
  RootClass judged = RootClass::kNotDue;
  std::string why = {}, said = {};
  // From when a wait was old enough to be told, or the process's first conn.stall, to the line.
  std::optional<double> delay_sec = std::nullopt;
};

// What of a job its logs' judge has to know.
struct RootTruth {
  const Case& one;
  const Moments& moments;
  const std::map<int, int>& pids;           // by rank
  const std::map<std::string, int>& procs;  // ranks
  bool harmless = false;                    // the fault was not met, or the job ran in spite of it
};

// The processes of the job ask each other, and tell of a wait as soon as in a job with a fault.
void ask_peers(Case& one);

RootJudgement judge_log(const RootTruth& truth, int rank, const RootLog& log);

}  // namespace nnd::verdict

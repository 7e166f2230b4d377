// The headline, the exit code and the blame, against the truth: as a user reads them.
#pragma once

#include <string>

#include "verdict/case.h"
#include "verdict/play.h"

namespace nnd::verdict {

enum class Class {
  kRight,      // the guilty is named, and what it was
  kHonest,     // not known, where the evidence was not collected, or told nobody apart
  kVague,      // nothing false, and the guilty is not named, or not with its story
  kWrong,      // somebody else is named
  kAccused,    // the network, which is innocent
  kAcquitted,  // the network, which is guilty and whose log is there
  kMissed,     // "fine"
  kAlarm,      // of a healthy job
  kNoJob,      // it could not be played
};
inline constexpr int kClasses = 9;
std::string name_of(Class judged);

struct Judgement {
  Class judged = Class::kNoJob;
  std::string why;
};

Judgement judge(const Case& one, const Played& played);

}  // namespace nnd::verdict

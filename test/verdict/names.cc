#include "verdict/case.h"

namespace nnd::verdict {

std::string name_of(Ending ending) {
  switch (ending) {
    case Ending::kLive:
      return "looked at live";
    case Ending::kByItself:
      return "by itself";
    case Ending::kWatchdog:
      return "watchdog";
    case Ending::kElastic:
      return "torchelastic";
    case Ending::kMpirun:
      return "mpirun";
    case Ending::kCancelled:
      return "scancel";
    case Ending::kTimeLimit:
      return "time limit";
  }
  return {};
}

std::string ending_of(const Case& one) {
  return name_of(one.ending) + (one.restarted ? ", restarted" : "");
}

std::string name_of(Moment moment) {
  switch (moment) {
    case Moment::kBeforeInit:
      return "before NCCL's init";
    case Moment::kBeforeConnection:
      return "before the first connection";
    case Moment::kEarly:
      return "early";
    case Moment::kMidCollective:
      return "in a collective";
    case Moment::kLate:
      return "late";
  }
  return {};
}

std::string name_of(Collected collected) {
  switch (collected) {
    case Collected::kAll:
      return "all";
    case Collected::kNoBoxes:
      return "no boxes";
    case Collected::kHalf:
      return "half of the processes";
    case Collected::kOneNode:
      return "one node";
    case Collected::kCutOff:
      return "logs cut off";
  }
  return {};
}

}  // namespace nnd::verdict

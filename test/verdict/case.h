// One drawn job: what is played, how it ends, what is collected of it, and the truth.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "softcuda/job_spec.h"
#include "verdict/fabric.h"

namespace nnd::verdict {

// How those end that the fault has left.
enum class Ending {
  kLive,       // looked at while it hangs, or runs
  kByItself,   // each rank as NCCL lets it
  kWatchdog,   // each waiting rank aborts within seconds, then the launcher ends the rest
  kElastic,    // torchelastic: one has failed, so all others get SIGTERM, and later SIGKILL
  kMpirun,     // the same at once
  kCancelled,  // scancel: all get SIGTERM, and soon SIGKILL
  kTimeLimit,  // all get SIGKILL
};
inline constexpr int kEndings = 7;
std::string name_of(Ending ending);

enum class Moment { kBeforeInit, kBeforeConnection, kEarly, kMidCollective, kLate };
inline constexpr int kMoments = 5;
std::string name_of(Moment moment);

enum class Collected { kAll, kNoBoxes, kHalf, kOneNode, kCutOff };
inline constexpr int kCollections = 5;
std::string name_of(Collected collected);

// Whose fault it is.
enum class Network {
  kInnocent,
  kGuilty,
  kEither,  // a setting of NCCL's transport: neither accuses nor acquits wrongly
};

struct Truth {
  bool healthy = false;
  Network network = Network::kInnocent;
  std::string words = {};  // for people
  // Who may be named as guilty. A rank of one of the nodes where `nodes` alone is given.
  std::set<int> ranks = {}, nodes = {};
  std::set<std::string> hcas = {};  // of which one is to be named; empty: none need be
  // What it was, in the words of a user: one of them has to be in the line. Regular expressions.
  std::vector<std::string> says = {};
  // ... and more of them, where a guilty rank came to its program's end after all, or never did.
  std::vector<std::string> says_if_done = {}, says_if_not = {};
  // From how many nodes on the odd one can be told from the others: with fewer each may be named.
  int tells_from_nodes = 2;
  bool may_be_harmless = false;  // the job may run in spite of it
  bool both_named = false;       // the sentence says who did what of both sides
  bool no_log = false;           // the guilty rank ends before it has one
  bool silent = false;           // it ends without a word
  bool untold = false;           // this release says what it is, and not who
};

struct Case {
  unsigned long seed = 0;
  std::string nccl;  // a release
  int nodes = 2, gpus = 1;
  std::string fault;
  Moment moment = Moment::kEarly;
  Ending ending = Ending::kByItself;
  Collected collected = Collected::kAll;
  bool restarted = false;
  Fabric fabric;
  std::vector<softcuda::Action> actions;
  std::map<std::string, std::string> environment = {};
  std::map<int, std::map<std::string, std::string>> node_environment = {}, rank_environment = {};
  std::map<int, int> clock_ms = {};  // by node: how far its clock is off
  bool heeds_sigterm = false;
  std::optional<int> culprit = std::nullopt;  // a rank that acts by itself,
  int culprit_events = 0;                     // ... when it has reported so many
  bool node_lost = false;                     // node `lost` goes, as the fault
  int lost = 0;
  Truth truth;

  int ranks() const { return nodes * gpus; }
  int node_of(int rank) const { return rank / gpus; }
};

// As docs/verdict.md lists it: "watchdog, restarted".
std::string ending_of(const Case& one);

}  // namespace nnd::verdict

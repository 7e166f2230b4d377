// What happened to a job: all that the logs and boxes show, and which of it came first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/balance.h"
#include "report/counters.h"
#include "report/culprits.h"
#include "report/failures.h"
#include "report/late.h"
#include "report/missing.h"
#include "report/odd.h"
#include "report/picture.h"
#include "report/slow.h"
#include "report/waits.h"

namespace nnd::report {

enum class Kind : std::uint8_t {
  kHealthy,   // it ended, and nothing was wrong
  kRunning,   // it runs, and nothing is wrong
  kEnded,     // all its processes ended together, from outside, and nothing was wrong before
  kFailed,    // something failed
  kLost,      // processes went away first
  kMissing,   // ranks that never came
  kHang,      // processes wait
  kSlow,      // ports are far slower than others
  kDegraded,  // ports lost packets, or waits of the network's passed
  kCount
};
const char* name_of(Kind kind);

enum class Blame : std::uint8_t { kNone, kNetwork, kNotNetwork, kOpen };
const char* name_of(Blame blame);

struct Report {
  Picture picture;
  std::vector<Failure> failures;
  FirstCause first;
  std::vector<Culprit> culprits;  // of kFailed, kHang and kDegraded
  Missing missing;
  Waits waits;
  std::vector<Slow> slow;
  std::vector<Unbalanced> unbalanced;
  std::vector<Late> late;
  std::vector<Grown> grown;
  std::vector<Odd> odd;
  Kind kind = Kind::kHealthy;
  Blame blame = Blame::kNone;
  bool warned = false;  // rules or settings were warned of

  bool found_cause() const { return kind >= Kind::kFailed; }
};

// Of what failed: that only ends told whose other ends have no log here, or one that ends before.
// These may have died.
bool other_ends_unknown(const Report& report);

// Points into the input.
Report analyse(const Input& input, std::optional<int> expected_ranks = {});

}  // namespace nnd::report

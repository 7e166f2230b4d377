// What a model comes to: which of its roots the job failed of, and whose fault that is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/model.h"

namespace nnd::report {

enum class Kind : std::uint8_t {
  kHealthy,   // it ended, and nothing was wrong
  kRunning,   // it runs, and nothing is wrong
  kStarting,  // communicators are being made, and nothing is known to be wrong
  kEnded,     // all its processes ended together, and nothing was wrong before
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

// A process that went away while the job ran.
struct Loss {
  std::size_t member = 0;
  Ns at = 0;
  bool clean = false;  // it ended by itself, and wrote its summary
};

struct FirstCause {
  std::vector<Failure> roots;     // that have one cause and follow from nothing else that is known
  std::vector<Loss> losses;       // or, where they came first, the processes that went away
  std::vector<Failure> other;     // that follow from nothing known either, of other causes
  std::vector<Failure> followed;  // all the rest
  std::vector<Failure> signs;     // what ports told of before, at the roots' places
  Ns at = 0;
  bool any() const { return !roots.empty() || !losses.empty(); }
};

struct Conclusion {
  Kind kind = Kind::kHealthy;
  Blame blame = Blame::kNone;
  FirstCause first;
};

// `slow`: ports were found that are.
Conclusion conclude(const Model& model, const Picture& picture, bool slow);

// Of what failed: that only ends told whose other ends have no log here, or one that ends before.
// These may have died.
bool other_ends_unknown(const Picture& picture, const std::vector<Failure>& roots);

}  // namespace nnd::report

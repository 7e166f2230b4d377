// What failed in a job: which failure came first, and what only followed from it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nccl_net_diag/causes.h"
#include "report/picture.h"

namespace nnd::report {

using nccl_net_diag::Reach;

// There is no other end whose fault it can be.
bool is_own(Reach reach);

struct Failure {
  const log::Diagnosis* told = nullptr;  // the event that says most
  std::size_t member = 0;
  Ns at = 0;
  Reach reach = Reach::kLocal;
  bool recovered = false;           // NCCL tried again and got over it
  bool warned = false;              // a port tells of trouble; nothing has failed by that alone
  std::optional<std::size_t> peer;  // the process at the other end
  Place here, there;                // there: empty where there is no other end
};

// Every failure of every process, by time; each once, however many events tell of it.
std::vector<Failure> failures_of(const Picture& picture);

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

FirstCause first_cause(const Picture& picture, const std::vector<Failure>& failures);

// Processes that went away before the others were done: those that died, and those that ended while
// others still waited for them.
std::vector<Loss> losses_of(const Picture& picture);

}  // namespace nnd::report

// What the answers of NCCL's RAS show: who is gone, who has an error, and whose program has begun
// other collectives than most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foreign/ras_status.h"

namespace nnd::report {

struct Ras {
  enum class Kind : std::uint8_t {
    kDead,        // `gone` are dead to RAS
    kError,       // `ranks` tell of an asynchronous error
    kUnanswered,  // `gone` did not answer in time
    kApart        // `ranks`, fewer than the others, have begun another number
  };
  Kind kind = Kind::kApart;
  const foreign::RasStatus* status = nullptr;  // the last one
  const foreign::RasCommunicator* of = nullptr;
  std::vector<const foreign::RasRank*> ranks;
  std::vector<const foreign::RasMissing*> gone;
  // Of kApart: the first kind of which the numbers differ, and for how long at least, by an earlier
  // answer, nobody of the communicator has begun another; 0: not known.
  std::string collective;
  std::uint64_t begun = 0, by_others = 0;
  std::size_t others = 0;  // ranks
  std::int64_t stood_sec = 0;

  // One answer of a job that runs may find its ranks apart for a moment.
  bool found() const;
};

// Unset: the last answer shows nothing wrong, or there is none. Points into them.
std::optional<Ras> ras_of(const std::vector<foreign::RasStatus>& statuses);

}  // namespace nnd::report

// Whom a job waited for in the end, as its processes told each other while it hung: where not all
// of their logs are here, any one of them tells it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "log/event.h"
#include "log/job.h"
#include "report/picture.h"

namespace nnd::report {

struct Report;

struct ToldRoot {
  const log::Awaited* awaited = nullptr;
  const log::Diagnosis* told = nullptr;
  std::vector<std::size_t> tellers;  // the first that told it goes first
  Ns at = 0;                         // then
  // Of a pair: in what its two processes differ, as one of them has told.
  const log::Diagnosis* differs = nullptr;
};

// Of what most of those that are here say; nothing where the logs themselves show more.
std::optional<ToldRoot> told_root_of(const Report& report);

}  // namespace nnd::report

#include "report/done.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "report/model.h"

namespace nnd::report {

namespace {

// most: by communicator, the collectives that any of its ranks was given.
bool is_done(const log::Process& process, const std::map<std::string, std::uint64_t>& most) {
  const auto& all = process.communicators;
  return process.summary->exit_status == 0 && process.summary->pending == 0 && !all.empty() &&
         std::all_of(all.begin(), all.end(), [&](const auto& one) {
           // Of those without a part over the network no end is told.
           const bool gave_up = one.second.closed_ns != 0 && one.second.finished != 0 &&
                                one.second.finished < one.second.given;
           return most.at(one.first) == one.second.given && !gave_up;
         });
}

}  // namespace

std::vector<std::size_t> done_ones(const Picture& picture, const std::vector<End>& ends) {
  std::map<std::string, std::uint64_t> most;
  for (const Member& member : picture.members) {
    if (is_being_made(member) || member.log->making) return {};
    for (const auto& [comm, one] : member.log->communicators)
      most[comm] = std::max(most[comm], one.given);
  }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (ends[i].kind == End::Kind::kLeft && !ends[i].missed &&
        is_done(*picture.members[i].log, most))
      out.push_back(i);
  return out;
}

}  // namespace nnd::report

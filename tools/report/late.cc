#include "report/late.h"

#include <algorithm>
#include <map>

#include "report/robust.h"

namespace nnd::report {

namespace {

constexpr double kFewestForWaits = 3;
constexpr std::size_t kFewestMembers = 4;
constexpr double kLeastSec = 1;                          // what is worth a word
constexpr double kNothingSec = kLeastSec / kTimesUsual;  // below it all are alike

// By member: only those that others send to over the network.
std::map<std::size_t, double> waited_for(const Picture& picture) {
  std::map<std::size_t, double> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      if (connection.dir != log::Direction::kSend || !connection.closed) continue;
      if (const auto peer = picture.peer_of(i, connection.peer, number, connection.link))
        out[*peer] += connection.peer_wait_us.value_or(0) / 1e6;
    }
  return out;
}

}  // namespace

const log::Latecomer* latecomer(const Picture& picture) {
  const log::Latecomer* out = nullptr;
  for (const Member& member : picture.members)
    if (const auto& summary = member.log->summary;
        summary && summary->latecomer.of > (out == nullptr ? 0 : out->of))
      out = &summary->latecomer;
  return out;
}

std::vector<Late> late_members(const Picture& picture) {
  const auto waited = waited_for(picture);
  std::vector<Late> out;
  if (waited.size() < kFewestMembers) return out;
  std::vector<double> all, judged;
  for (const auto& [member, sec] : waited) {
    all.push_back(sec);
    judged.push_back(std::max(sec, kNothingSec));
  }
  const Usual usual = usual_of(judged);
  for (const auto& [member, sec] : waited) {
    const double effect = usual.effect(std::max(sec, kNothingSec));
    if (sec >= kLeastSec && sec >= kTimesUsual * usual.value() && effect >= kFewestForWaits)
      out.push_back({member, sec, median(all), effect, waited.size()});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Late& a, const Late& b) { return a.sec > b.sec; });
  return out;
}

}  // namespace nnd::report

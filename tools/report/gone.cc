#include "report/gone.h"

#include <algorithm>
#include <map>

#include "report/clocks.h"

namespace nnd::report {

namespace {

struct Closing {
  std::size_t by = 0, who = 0;
  Ns at = 0;
};

class Closings {
 public:
  Closings(const Picture& picture, const std::vector<End>& ends) : picture_(picture), ends_(ends) {
    for (const Closing& one : in_order()) {
      if (after_.contains(one.by) || first_before(one.who) == one.by) continue;
      after_.emplace(one.by, one.who);
      if (!after_.contains(one.who)) first_.try_emplace(one.who, one);
    }
  }

  std::vector<Gone> gone() const {
    std::vector<Gone> out;
    for (const auto& [who, first] : first_) {
      if (after_.contains(who) || !went_by_itself(first)) continue;
      Gone one{who, first.at, first.by, {}};
      for (const auto& [member, other] : after_)
        if (fails_after(member, who)) one.after.emplace_back(member, other);
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  // Of those that failed, or were ended, and did no more.
  std::vector<Closing> in_order() const {
    std::vector<Closing> out;
    for (std::size_t i = 0; i < picture_.members.size(); ++i)
      for (const log::Closed& one : picture_.members[i].log->closed) {
        const auto who = picture_.listener_at(i, one.address);
        if (!who || !ends_[*who].ended() || ended_well(i) || ended_well(*who)) continue;
        if (picture_.members[*who].log->cut_off) continue;  // what it had failed of may be there
        // On the way to another node a firewall may refuse as well.
        if (one.refused && picture_.members[i].host != picture_.members[*who].host) continue;
        const Ns at = picture_.at(i, one.mono_ns);
        if (!works_on(*who, at + clocks_apart(picture_, i, *who))) out.push_back({i, *who, at});
      }
    std::stable_sort(out.begin(), out.end(),
                     [](const Closing& a, const Closing& b) { return a.at < b.at; });
    return out;
  }
  // NCCL's RAS gives connections up by itself where its messages take seconds.
  bool works_on(std::size_t member, Ns at) const {
    constexpr Ns kLater = 1'000'000'000;
    const Box* const box = picture_.members[member].box;
    return box != nullptr && box->asked_ns != 0 &&
           picture_.at(member, box->asked_ns) >= at + kLater;
  }
  bool fails(std::size_t member) const {
    return ends_[member].kind == End::Kind::kLeft &&
           tells_of_failure(*picture_.members[member].log);
  }
  bool ended_well(std::size_t member) const {
    return ends_[member].kind == End::Kind::kLeft && !fails(member);
  }
  // Of itself, whatever it was asked.
  bool fails_unasked(std::size_t member) const {
    return fails(member) && !was_ended(picture_.members[member]);
  }
  std::size_t first_before(std::size_t member) const {
    for (auto at = after_.find(member); at != after_.end(); at = after_.find(member))
      member = at->second;
    return member;
  }
  bool fails_after(std::size_t member, std::size_t who) const {
    return member != who && fails(member) && first_before(member) == who;
  }
  // Where all are asked to end, or killed, one sees another go as well: it exited with a failure,
  // or somebody failed of it, who wasn't asked to end, or all the others lived on for longer than
  // who is asked takes.
  bool went_by_itself(const Closing& first) const {
    if (fails_unasked(first.who)) return true;
    std::size_t others = 0, lived_on = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (i == first.who) continue;
      if (fails_after(i, first.who)) {
        if (fails_unasked(i)) return true;
        continue;
      }
      ++others;
      lived_on +=
          picture_.members[i].last >= first.at + kAskedTake + clocks_apart(picture_, first.by, i);
    }
    return others != 0 && lived_on == others;
  }

  const Picture& picture_;
  const std::vector<End>& ends_;
  std::map<std::size_t, std::size_t> after_;  // who saw one go, and whom
  std::map<std::size_t, Closing> first_;      // by who went
};

}  // namespace

std::vector<Gone> gone_of(const Picture& picture, const std::vector<End>& ends) {
  // Who went first may have left no log here.
  if (picture.world_size && picture.members.size() < static_cast<std::size_t>(*picture.world_size))
    return {};
  return Closings(picture, ends).gone();
}

}  // namespace nnd::report

#include "report/difference.h"

#include <algorithm>
#include <set>

#include "nccl_net_diag/causes.h"
#include "report/meaning.h"

namespace nnd::report {

namespace {

using nccl_net_diag::Cause;

class Differences {
 public:
  Differences(const Picture& picture, const std::vector<Deviation>& odd,
              const std::vector<Failure>& failing)
      : picture_(picture), odd_(odd), failing_(failing) {}

  std::optional<Difference> best() {
    std::optional<Difference> out;
    std::optional<DeviationMeaning> meant;
    for (std::size_t i = 0; i < odd_.size(); ++i) {
      const auto meaning = meaning_of(odd_[i].what);
      if (!meaning || (meant && meaning->rank >= meant->rank) || !fits(*meaning, odd_[i])) continue;
      meant = meaning;
      out = Difference{};
      out->odd = i;
      if (meaning->cause) out->cause = nccl_net_diag::cause_id(*meaning->cause);
      add_told(*out);
      out->swapped = swapped_with(i);
      if (odd_[i].usual_count == 0) out->guilty = guilty_camp(odd_[i]);
    }
    return out;
  }

 private:
  // Every pair that fails has one end among the odd ones, and none such pair works.
  bool fits(const DeviationMeaning& meaning, const Deviation& odd) const {
    if (!odd.serious || odd.others.empty()) return false;
    if (failing_.empty()) return breaks_paths(meaning) && !any_works(odd_members(odd), {});
    if (is_fallback(*failing_.front().told)) return meaning.cause == Cause::kIncIbTcp;
    const auto members = odd_members(odd);
    std::set<std::string> devices;
    if (meaning.of_end) devices = devices_like(odd, meaning);
    for (const auto& failure : failing_) {
      if (is_own(failure.reach)) return false;
      const bool here = members.contains(failure.member);
      const bool there =
          failure.peer ? members.contains(*failure.peer) : is_host_of(failure.there.host, members);
      if (here == there) return false;
      if (!devices.empty() && !devices.contains(failure.here.dev) &&
          !devices.contains(failure.there.dev))
        return false;
    }
    return !any_works(members, devices);
  }
  static bool breaks_paths(const DeviationMeaning& meaning) {
    return meaning.what == "transport" || meaning.what == "state of " ||
           meaning.what == "link layer of " || meaning.what == "subnet of " ||
           meaning.what == "GID type of " || meaning.what == "NCCL";
  }
  static std::set<std::size_t> odd_members(const Deviation& odd) {
    std::set<std::size_t> out;
    for (const auto& one : odd.others)
      if (odd.usual_count != 0 || &one == &odd.others.front())
        out.insert(one.members.begin(), one.members.end());
    return out;
  }
  // The HCAs that differ in the same at the same node; none where it is all of them.
  std::set<std::string> devices_like(const Deviation& odd, const DeviationMeaning& meaning) const {
    std::set<std::string> out;
    for (const auto& other : odd_) {
      if (!other.what.starts_with(meaning.what)) continue;
      if (odd_members(other) != odd_members(odd) && other.usual_count != 0) continue;
      const auto device = device_of(other.what);
      if (device.empty()) return {};
      out.insert(device);
    }
    return out;
  }
  bool is_host_of(const std::string& host, const std::set<std::size_t>& members) const {
    return std::any_of(members.begin(), members.end(), [&](std::size_t member) {
      return picture_.members[member].log->host == host;
    });
  }
  // Connections between the odd ones and the others that have moved data, or were made at all where
  // nothing has failed.
  bool any_works(const std::set<std::size_t>& members, const std::set<std::string>& devices) const {
    for (const auto member : members)
      for (const auto& [number, connection] : picture_.members[member].log->connections) {
        const bool moved =
            connection.bytes.value_or(0) != 0 && connection.completed.value_or(0) != 0;
        if (!moved && !(failing_.empty() && connection.ready_ns != 0)) continue;
        if (!devices.empty() && !devices.contains(connection.dev.name)) continue;
        const auto peer = picture_.peer_of(member, connection.peer, number, connection.link);
        if (peer && !members.contains(*peer)) return true;
      }
    return false;
  }

  // What the odd ones say of it themselves: a port that is down, an HCA that can't be opened.
  void add_told(Difference& out) const {
    const Deviation& odd = odd_[out.odd];
    const bool devices =
        odd.what == "HCAs in use" || odd.what == "transport" || odd.what.starts_with("state of ");
    if (!devices) return;
    for (const auto& one : odd.others)
      for (const auto member : one.members)
        for (const auto& told : picture_.members[member].log->diagnoses) {
          const auto cause = nccl_net_diag::find_cause(told.cause);
          if (cause && (*cause == Cause::kDevUnusable || *cause == Cause::kDevDown ||
                        *cause == Cause::kLimNoFile || *cause == Cause::kDevNoPci ||
                        *cause == Cause::kDevPrefix || *cause == Cause::kIbNoSm)) {
            out.told = &told;
            if (odd.what != "transport") out.cause = told.cause;
            return;
          }
        }
  }

  // The same node's other HCA is in the subnet in which this one should be, and the other way
  // round.
  std::optional<std::string> swapped_with(std::size_t at) const {
    const Deviation& mine = odd_[at];
    if (!mine.what.starts_with("subnet of ") || mine.others.empty()) return std::nullopt;
    const std::string usual = mine.usual_count != 0 ? mine.usual : mine.others.back().value;
    for (const auto& odd : odd_) {
      if (&odd == &mine || !odd.what.starts_with("subnet of ") || odd.others.empty()) continue;
      const std::string other_usual = odd.usual_count != 0 ? odd.usual : odd.others.back().value;
      for (const auto& one : mine.others)
        for (const auto& other : odd.others)
          if (one.who == other.who && one.value == other_usual && other.value == usual)
            return device_of(odd.what);
      // Two camps are listed by value, not by who has it.
      if (mine.usual_count == 0 && odd.usual_count == 0 && mine.others.size() == 2 &&
          odd.others.size() == 2 && mine.others[0].value == odd.others[0].value &&
          mine.others[1].value == odd.others[1].value && mine.others[0].who == odd.others[1].who)
        return device_of(odd.what);
    }
    return std::nullopt;
  }

  const Picture& picture_;
  const std::vector<Deviation>& odd_;
  const std::vector<Failure>& failing_;
};

}  // namespace

std::optional<Difference> difference_of(const Picture& picture, const std::vector<Deviation>& odd,
                                        const std::vector<Failure>& failing) {
  return Differences(picture, odd, failing).best();
}

}  // namespace nnd::report

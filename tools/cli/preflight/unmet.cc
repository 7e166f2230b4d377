// Hosts that don't come to each other where ranks would meet.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "cli/preflight/talk.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

struct Tally {
  std::size_t tried = 0, failed = 0;

  void count(bool fails) {
    ++tried;
    failed += fails;
  }
  bool all_failed() const { return tried > 1 && failed == tried; }
};

Finding finding_of(const MeetingTry& tried, Weight weight, std::vector<std::string> hosts) {
  Finding out;
  out.weight = weight;
  out.hosts = std::move(hosts);
  out.cause = nccl_net_diag::cause_id(nccl_net_diag::Cause::kOobBlocked);
  out.text = trouble_of(tried) + ".";
  out.remedy = remedy_of(tried);
  return out;
}

}  // namespace

std::vector<Finding> unmet(const std::vector<MeetingTry>& meetings) {
  std::map<std::string, Tally> to, from;
  for (const MeetingTry& one : meetings) {
    to[one.to].count(one.error != 0);
    from[one.from].count(one.error != 0);
  }
  const bool any_meet = std::any_of(meetings.begin(), meetings.end(),
                                    [](const MeetingTry& one) { return one.error == 0; });
  const auto at_fault = [&](const std::string& host) {
    return any_meet && (to[host].all_failed() || from[host].all_failed());
  };
  std::vector<Finding> out;
  std::set<std::string> told;
  for (const MeetingTry& one : meetings) {
    if (one.error == 0) continue;
    const bool target = any_meet && to[one.to].all_failed();
    const bool source = any_meet && from[one.from].all_failed();
    if (target || source) {
      const std::string& host = target ? one.to : one.from;
      if (told.insert(host).second) out.push_back(finding_of(one, Weight::kLeaveOut, {host}));
    } else if (!at_fault(one.to) && !at_fault(one.from)) {
      out.push_back(finding_of(one, Weight::kMend, {one.from, one.to}));
    }
  }
  return out;
}

}  // namespace nnd::cli

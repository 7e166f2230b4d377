#include "watch/unlike.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "context/clock.h"
#include "diagnosis/unlike.h"
#include "record/event.h"
#include "state/awaited.h"
#include "watch/whom.h"

namespace nnd::watch {

namespace {

using peers::Difference;
using record::Event;
using record::EventId;
using record::Severity;

// All of one cause, or none of which anything follows.
void tell(const std::vector<Difference>& all, const peers::Who& self, const peers::Who& who) {
  const auto cause = all.front().cause;
  diagnosis::UnlikePeers seen{process_of(self), process_of(who), {}};
  for (const Difference& one : all) seen.items.push_back({one.what, one.here, one.there});
  Event e(EventId::kPeerDiffers, cause ? Severity::kWarn : Severity::kInfo);
  if (!e.enabled()) return;
  if (self.rank >= 0) e.add("rank", self.rank);
  e.object("peer").hex("proc", who.proc);
  if (who.rank >= 0) e.add("rank", who.rank);
  if (!who.host.empty()) e.add("host", std::string_view(who.host));
  if (who.pid != 0) e.add("pid", who.pid);
  e.end().array("differs");
  for (const Difference& one : all) {
    e.push_object().add("what", one.what);
    if (!one.here.empty()) e.add("here", one.here);
    if (!one.there.empty()) e.add("there", one.there);
    e.end();
  }
  e.end();
  if (cause)
    e.diagnose(diagnose(seen, *cause));
  else
    e.add("msg", sentence_of(seen));
  e.emit();
}

}  // namespace

void Unlike::met(const peers::ProcessFacts& own, const peers::Variables& variables,
                 const peers::Who& who, const peers::ProcessFacts& theirs) {
  std::vector<Difference> left = differences(own, theirs, variables);
  std::erase_if(left, [this](const Difference& one) { return told_.contains(one.what); });
  // What may be meant comes last.
  std::stable_partition(left.begin(), left.end(),
                        [](const Difference& one) { return one.cause.has_value(); });
  while (!left.empty() && lines_.take(context::mono_ns() / 1'000'000)) {
    const auto cause = left.front().cause;
    const auto rest = std::stable_partition(
        left.begin(), left.end(), [cause](const Difference& one) { return one.cause == cause; });
    const std::vector<Difference> alike(left.begin(), rest);
    left.erase(left.begin(), rest);
    for (const Difference& one : alike) told_.insert(one.what);
    tell(alike, this_process().self, who);
  }
}

}  // namespace nnd::watch

#include "peers/arrivals.h"

#include <algorithm>

namespace nnd::peers {

namespace {

constexpr std::uint32_t kWorthUs = 20'000;  // a shorter wait slows nobody down
constexpr std::size_t kRecent = 2048;       // stays of a communicator
constexpr std::size_t kCommunicators = 8;
constexpr std::size_t kMostKnown = 64;
constexpr std::size_t kMostJudged = 60;
// Few, so that each of them gets far: who has heard of one adds none of its own.
constexpr std::uint64_t kNoteEveryMs = 4000;
constexpr std::uint64_t kWindowMs = 1000;
constexpr std::uint64_t kNextHaveMs = 5000;  // then the next ones have told of it,
constexpr std::uint64_t kTellMs = 20'000;    // then all that will,
constexpr std::uint64_t kJudgeMs = 25'000;   // and then it is judged for good
constexpr std::uint64_t kForgetMs = 60'000;
// By chance one of two ranks comes last in eight of eight once in 128 times.
constexpr std::size_t kFewest = 8;

// Takes a stay, or what another has told.
void widen(Arrival& arrival, std::uint32_t shortest_us, std::uint32_t next_us,
           const state::Who& last) {
  if (last.proc == arrival.last.proc) {
    arrival.next_us = std::min(arrival.next_us, next_us);
    return;
  }
  arrival.next_us =
      std::min({std::max(arrival.shortest_us, shortest_us), arrival.next_us, next_us});
  if (shortest_us >= arrival.shortest_us) return;
  arrival.shortest_us = shortest_us;
  arrival.last = last;
}

}  // namespace

Arrivals::Known* Arrivals::find(std::uint64_t comm, std::uint64_t ordinal) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
    return one.arrival.comm == comm && one.arrival.ordinal == ordinal;
  });
  return found == known_.end() ? nullptr : &*found;
}

Arrivals::Known& Arrivals::add(Known known, std::uint64_t now_ms) {
  noted_ms_ = now_ms;
  if (known_.size() >= kMostKnown) known_.erase(known_.begin());
  return known_.emplace_back(known);
}

Arrivals::Recent& Arrivals::recent(std::uint64_t comm, std::uint64_t now_ms) {
  if (!recent_.contains(comm) && recent_.size() >= kCommunicators)
    recent_.erase(std::min_element(
        recent_.begin(), recent_.end(),
        [](const auto& a, const auto& b) { return a.second.used_ms < b.second.used_ms; }));
  Recent& out = recent_[comm];
  out.stays.resize(kRecent);
  out.used_ms = now_ms;
  return out;
}

const Stay* Arrivals::own(std::uint64_t comm, std::uint64_t ordinal) const {
  const auto found = recent_.find(comm);
  if (found == recent_.end()) return nullptr;
  const Stay& stay = found->second.stays[ordinal % kRecent];
  return stay.ordinal == ordinal && ordinal != 0 ? &stay : nullptr;
}

void Arrivals::note(const Stay& stay, const state::Who& self, std::uint64_t now_ms) {
  if (find(stay.comm, stay.ordinal) != nullptr) return;
  add({{stay.comm, stay.ordinal, stay.us, Arrival::kNone, self, 0}, now_ms, true, false}, now_ms);
}

// Now and then that of a second's collectives in which this process was for longest: if it waits,
// then there.
void Arrivals::note_own_stay(const Stay& stay, const state::Who& self, std::uint64_t now_ms) {
  recent(stay.comm, now_ms).stays[stay.ordinal % kRecent] = stay;
  if (Known* const known = find(stay.comm, stay.ordinal); known != nullptr && !known->mine) {
    known->mine = true;
    widen(known->arrival, stay.us, Arrival::kNone, self);
  }
  if (now_ms - began_ms_ >= kWindowMs) {
    const bool due = noted_ms_ == 0 || now_ms - noted_ms_ >= kNoteEveryMs;
    if (due && longest_.us >= kWorthUs) note(longest_, self, now_ms);
    longest_ = {};
    began_ms_ = now_ms;
  }
  if (stay.us > longest_.us) longest_ = stay;
}

void Arrivals::take(const Arrival& one, const state::Who& self, std::uint64_t now_ms) {
  if (one.age_ms >= kTellMs || one.ordinal == 0 || !recent_.contains(one.comm)) return;
  // Of itself it knows better.
  const Stay* const mine = own(one.comm, one.ordinal);
  const bool of_self = one.last.proc == self.proc;
  if (of_self && mine == nullptr) return;
  Known* known = find(one.comm, one.ordinal);
  if (known == nullptr) {
    known =
        &add({one, now_ms - std::min<std::uint64_t>(now_ms, one.age_ms), mine != nullptr, false},
             now_ms);
    if (of_self) known->arrival.shortest_us = mine->us;
    if (mine != nullptr) widen(known->arrival, mine->us, Arrival::kNone, self);
  }
  widen(known->arrival, of_self ? mine->us : one.shortest_us, one.next_us, one.last);
}

void Arrivals::heard(const Arrived& told, const state::Who& self, std::uint64_t now_ms) {
  for (const Arrival& one : told.arrivals) take(one, self, now_ms);
  if (!told.latecomer.known() || told.age_ms >= kForgetMs) return;
  const std::uint64_t since_ms = now_ms - std::min<std::uint64_t>(now_ms, told.age_ms);
  if (since_ms <= told_ms_) return;
  told_ = told.latecomer;
  told_ms_ = since_ms;
}

Arrived Arrivals::to_tell(std::uint64_t now_ms) {
  Arrived out;
  for (auto known = known_.rbegin();
       known != known_.rend() && out.arrivals.size() < kArrivalsAtOnce; ++known) {
    const std::uint64_t age = now_ms - known->since_ms;
    if (age >= kTellMs) continue;
    out.arrivals.push_back(known->arrival);
    out.arrivals.back().age_ms = static_cast<std::uint32_t>(age);
  }
  out.latecomer = compared(now_ms);
  if (!out.latecomer.known() && now_ms - told_ms_ < kForgetMs) {
    out.latecomer = told_;
    out.age_ms = static_cast<std::uint32_t>(now_ms - told_ms_);
  }
  return out;
}

state::Latecomer Arrivals::latecomer(std::uint64_t now_ms) { return to_tell(now_ms).latecomer; }

// Alone: where two come last together, each of them seems to wait for nobody.
Arrivals::Judged Arrivals::judged(const Arrival& one) {
  if (one.next_us == Arrival::kNone || one.next_us <= one.shortest_us) return {};
  const std::uint32_t waited = one.next_us - one.shortest_us;
  return waited >= kWorthUs && waited >= one.shortest_us ? Judged{one.last, waited} : Judged{};
}

void Arrivals::judge(std::uint64_t now_ms) {
  for (Known& known : known_) {
    if (known.judged || now_ms - known.since_ms < kJudgeMs) continue;
    known.judged = true;
    judged_.push_back(judged(known.arrival));
    if (judged_.size() > kMostJudged) judged_.pop_front();
  }
  std::erase_if(known_, [&](const Known& one) { return now_ms - one.since_ms >= kForgetMs; });
}

state::Latecomer Arrivals::compared(std::uint64_t now_ms) {
  judge(now_ms);
  std::deque<Judged> all = judged_;  // and what is known by now of those that are younger
  for (const Known& known : known_)
    if (!known.judged && now_ms - known.since_ms >= kNextHaveMs)
      all.push_back(judged(known.arrival));
  std::map<std::uint64_t, std::vector<std::uint32_t>> waits;
  for (const Judged& one : all)
    if (one.last.known()) waits[one.last.proc].push_back(one.us);
  const auto most = std::max_element(waits.begin(), waits.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  state::Latecomer out;
  if (most == waits.end()) return out;
  auto& us = most->second;
  if (us.size() < kFewest || 8 * us.size() < 7 * all.size()) return out;
  std::nth_element(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(us.size() / 2), us.end());
  out.who = std::find_if(all.rbegin(), all.rend(), [&](const Judged& one) {
              return one.last.proc == most->first;
            })->last;
  out.times = static_cast<std::uint32_t>(us.size());
  out.of = static_cast<std::uint32_t>(all.size());
  out.us = us[us.size() / 2];
  return out;
}

}  // namespace nnd::peers

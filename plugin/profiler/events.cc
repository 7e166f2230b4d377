#include "profiler/events.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "context/memory_order.h"
#include "profiler/other.h"
#include "record/event.h"
#include "state/communicators.h"
#include "state/labelling.h"

namespace nnd::profiler {

namespace {

using record::Event;
using record::EventId;

using context::kRelaxed;

void add_membership(Event& e, const state::Communicator& communicator) {
  state::Membership who;
  communicator.membership.get(who);
  if (who.hash != 0) e.hex("comm", who.hash);
  if (!who.name.empty()) e.add("name", std::string_view(who.name));
  if (who.rank >= 0) e.add("rank", who.rank);
  if (who.nranks >= 0) e.add("nranks", who.nranks);
  if (who.nodes >= 0) e.add("nodes", who.nodes);
}

void add_text(Event& e, record::Key key, std::string_view text) {
  if (!text.empty()) e.add(key, text);
}

using Buckets = std::array<std::atomic<std::uint64_t>, state::kSizeBuckets>;

bool any_of(const Buckets& buckets) {
  return std::any_of(buckets.begin(), buckets.end(),
                     [](const auto& bucket) { return bucket.load(kRelaxed) != 0; });
}

// Only those in use, by their lower end.
void add_buckets(Event& e, record::Key key, const Buckets& buckets) {
  e.object(key);
  for (std::size_t b = 0; b < buckets.size(); ++b)
    if (const std::uint64_t calls = buckets[b].load(kRelaxed); calls != 0)
      e.add(std::to_string(std::uint64_t{1} << b), calls);
  e.end();
}

// How much came through in the time that the communicator was busy with it, by size.
void add_busy(Event& e, const state::CallCount& count) {
  const auto add = [&](record::Key key, std::atomic<std::uint64_t> state::SizeTime::*number) {
    e.object(key);
    for (std::size_t b = 0; b < count.by_size.size(); ++b)
      if (const auto& time = count.by_size[b]; time.calls.load(kRelaxed) != 0)
        e.add(std::to_string(std::uint64_t{1} << b), (time.*number).load(kRelaxed));
    e.end();
  };
  add("busy_calls", &state::SizeTime::calls);
  add("busy_bytes", &state::SizeTime::bytes);
  add("busy_ns", &state::SizeTime::ns);
}

bool any_of(const std::array<state::SizeTime, state::kSizeBuckets>& times) {
  return std::any_of(times.begin(), times.end(),
                     [](const auto& time) { return time.calls.load(kRelaxed) != 0; });
}

void add_steps(Event& e, const state::CallCount& count) {
  using state::Phase;
  const auto of = [&](Phase phase) -> const state::PhaseTotal& {
    return count.phases[static_cast<std::size_t>(phase)];
  };
  const auto steps = [&](Phase phase) { return of(phase).steps.load(kRelaxed); };
  const auto us = [&](Phase phase) {
    return static_cast<double>(of(phase).ns.load(kRelaxed)) / 1e3;
  };
  if (steps(Phase::kSending) + steps(Phase::kReceiving) == 0) return;
  e.object("steps");
  e.add("sends", steps(Phase::kSending))
      .add("before_send_us", us(Phase::kBeforeSend))
      .add("sending_us", us(Phase::kSending))
      .add("receives", steps(Phase::kReceiving))
      .add("receiving_us", us(Phase::kReceiving))
      .add("after_receive_us", us(Phase::kAfterReceive));
  e.end();
}

void add_count(Event& e, const state::CallCount& count) {
  e.push_object().add("kind", std::string_view(count.func));
  add_text(e, "datatype", count.datatype);
  add_text(e, "algo", count.algo);
  add_text(e, "proto", count.proto);
  e.add("calls", count.calls.load(kRelaxed));
  if (!count.algo.empty()) e.add("last_seq", count.last_seq.load(kRelaxed));
  if (count.element_bytes != 0) {
    e.add("bytes", count.bytes.load(kRelaxed));
    add_buckets(e, "sizes", count.sizes);
  }
  if (any_of(count.took)) add_buckets(e, "took_ns", count.took);
  if (any_of(count.by_size)) add_busy(e, count);
  add_steps(e, count);
  e.end();
}

bool ready(const state::CallCount& count) {
  return count.use.load(std::memory_order_acquire) == state::CallCount::Use::kReady;
}

bool any(std::span<const state::CallCount> counts) { return ready(counts.front()); }

void add_counts(Event& e, record::Key key, std::span<const state::CallCount> counts) {
  if (!any(counts)) return;
  e.array(key);
  for (const state::CallCount& count : counts)
    if (ready(count)) add_count(e, count);
  e.end();
}

}  // namespace

void tell_init(state::Communicator& communicator) {
  state::Membership who;
  if (!communicator.membership.get(who) || who.hash == 0 || communicator.told.exchange(true))
    return;
  Event e(EventId::kCommInit);
  add_membership(e, communicator);
  e.add("profiler_api", communicator.api.load(kRelaxed));
  add_text(e, "other_profiler", other_name());
  e.emit();
}

void tell_counts(const state::Communicator& communicator, bool last) {
  if (!any(communicator.called) && !any(communicator.ran)) return;
  Event e(EventId::kCollCount);
  if (!e.enabled()) return;
  add_membership(e, communicator);
  e.add("last", last);
  add_counts(e, "called", communicator.called);
  add_counts(e, "ran", communicator.ran);
  if (const std::uint64_t lost = communicator.not_counted.load(kRelaxed); lost != 0)
    e.add("not_counted", lost);
  e.emit();
}

void look(std::uint64_t mono_ns) {
  constexpr std::uint64_t kEvery = 600'000'000'000;
  static std::uint64_t told_ns = mono_ns;
  static std::array<std::uint64_t, state::kCommunicators> told{};  // tasks, by place
  state::look_at_expected();
  state::sample_a_task();
  state::for_each_communicator([](state::Communicator& communicator) { tell_init(communicator); });
  if (mono_ns - told_ns < kEvery) return;
  told_ns = mono_ns;
  state::for_each_communicator([](const state::Communicator& communicator) {
    const std::uint64_t made =
        communicator.collectives.made.load(kRelaxed) + communicator.transfers.made.load(kRelaxed);
    if (std::exchange(told[communicator.index], made) != made) tell_counts(communicator, false);
  });
}

void tell_finalize(const state::Communicator& communicator) {
  Event e(EventId::kCommFinalize);
  add_membership(e, communicator);
  e.emit();
}

}  // namespace nnd::profiler

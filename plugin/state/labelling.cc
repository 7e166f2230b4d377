#include "state/labelling.h"

#include "context/memory_order.h"

namespace nnd::state {

constinit Labelling g_labelling{};

namespace {

using context::kRelaxed;

thread_local Connection* t_last_posted = nullptr;

}  // namespace

void set_mask() noexcept {
  int* const its = g_labelling.mask.load(std::memory_order_acquire);
  if (its == nullptr) return;
  const std::atomic_ref<int> mask(*its);
  const bool high = somebody_wants_a_label() || g_labelling.sampling.load(kRelaxed) ||
                    g_labelling.looks_to_expect.load(kRelaxed) > 0;
  const int own = (high ? g_labelling.high : g_labelling.low).load(kRelaxed);
  const int wanted = own | g_labelling.other.load(kRelaxed);
  if (mask.load(kRelaxed) != wanted) mask.store(wanted, kRelaxed);
}

void follow_other(int mask) noexcept {
  if (g_labelling.other.load(kRelaxed) == mask) return;
  g_labelling.other.store(mask, kRelaxed);
  set_mask();
}

void sample_a_task() noexcept {
  g_labelling.sampling.store(true, kRelaxed);
  set_mask();
}

void end_sample() noexcept {
  if (!g_labelling.sampling.load(kRelaxed)) return;
  g_labelling.sampling.store(false, kRelaxed);
  set_mask();
}

void expect_requests() noexcept {
  g_labelling.looks_to_expect.store(2, kRelaxed);
  set_mask();
}

void look_at_expected() noexcept {
  int left = g_labelling.looks_to_expect.load(kRelaxed);
  if (left == 0) return;
  g_labelling.looks_to_expect.compare_exchange_strong(left, left - 1, kRelaxed);
  set_mask();
}

void want_label(Connection& c) noexcept {
  if (!c.wants_label) {
    c.wants_label = true;
    g_labelling.wanting.fetch_add(1, kRelaxed);
  }
  set_mask();  // another thread may just have lowered it
}

void give_label_up(Connection& c) noexcept {
  c.unlabelled = false;
  if (t_last_posted == &c) t_last_posted = nullptr;
  if (!c.wants_label) return;
  c.wants_label = false;
  g_labelling.wanting.fetch_sub(1, kRelaxed);
  set_mask();
}

void set_labels(Connection& c, const Labels& labels) noexcept {
  c.labels.set(labels);
  give_label_up(c);
}

Connection*& last_posted() noexcept { return t_last_posted; }

void forget_labelling() noexcept {
  g_labelling.active.store(false, kRelaxed);
  g_labelling.mask.store(nullptr, kRelaxed);
  g_labelling.other.store(0, kRelaxed);
  g_labelling.wanting.store(0, kRelaxed);
  g_labelling.looks_to_expect.store(0, kRelaxed);
  t_last_posted = nullptr;
}

}  // namespace nnd::state

#include "verbs/ops.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include "context/fork_mutex.h"
#include "context/raw_clock.h"
#include "state/qp_table.h"
#include "verbs/completion.h"
#include "verbs/fields.h"

namespace nnd::verbs {

namespace raw_clock = context::raw_clock;

namespace {

template <class Wr>
using Post = int (*)(ibv_qp*, Wr*, Wr**);
using PostSend = Post<ibv_send_wr>;
using PostRecv = Post<ibv_recv_wr>;
using PollCq = int (*)(ibv_cq*, int, ibv_wc*);

// One real function per trampoline. Written once, before the trampoline is handed out.
template <class F>
std::array<std::atomic<F>, kMaxProviders> g_real{};

// Some of the `n` completions failed. Returns `all`.
[[gnu::noinline, gnu::cold]] int count_failed(const ibv_context* context, int n, const ibv_wc* wc,
                                              int all) noexcept {
  const std::uint64_t now = raw_clock::now();
  for (int i = 0; i < n; ++i) {
    state::Qp* const qp = state::find_qp(context, wc[i].qp_num);
    if (wc[i].status != IBV_WC_SUCCESS)
      completion_failed(context, qp, wc[i]);
    else if (qp != nullptr)
      state::count_completion(*qp, now);
  }
  return all;
}

// Returns n. Nothing is called on a healthy job's way, so that no register needs to be kept.
[[gnu::noinline]] int count_completions(const ibv_context* context, const ibv_wc* wc,
                                        int n) noexcept {
  const std::uint64_t now = raw_clock::now();
  int left = n;
  do {
    if (wc->status != IBV_WC_SUCCESS) [[unlikely]]
      return count_failed(context, left, wc, n);
    if (state::Qp* const qp = state::find_qp(context, wc->qp_num)) [[likely]]
      state::count_completion(*qp, now);
    ++wc;
  } while (--left != 0);
  return n;
}

template <std::size_t N>
int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc) {
  const int n = g_real<PollCq>[N].load(std::memory_order_relaxed)(cq, entries, wc);
  return n > 0 ? count_completions(cq->context, wc, n) : n;
}

bool signalled(const ibv_send_wr& wr) noexcept { return (wr.send_flags & IBV_SEND_SIGNALED) != 0; }
bool signalled(const ibv_recv_wr&) noexcept { return true; }

// Those from this one up to the one that was refused.
template <class Wr>
void count_list(state::Qp& qp, state::Counter state::Qp::*posted, const Wr* wr,
                const Wr* bad) noexcept {
  std::uint64_t count = 0;
  std::uint64_t unsignalled = 0;
  for (; wr != nullptr && wr != bad; wr = wr->next) {
    ++count;
    if (!signalled(*wr)) ++unsignalled;
  }
  state::add(qp.*posted, count);
  if (unsignalled != 0) state::add(qp.unsignalled, unsignalled);
}

template <class Wr>
[[gnu::noinline]] int post_any(Post<Wr> real, state::Counter state::Qp::*posted, const char* verb,
                               ibv_qp* qp, Wr* wr, Wr** bad) noexcept {
  const int rc = real(qp, wr, bad);
  if (rc != 0) note_failure(verb, rc);
  if (state::Qp* const one = state::find_qp(qp, qp->qp_num))
    count_list<Wr>(*one, posted, wr, rc == 0 ? nullptr : *bad);
  return rc;
}

[[gnu::noinline, gnu::cold]] int post_failed(int rc, state::Counter state::Qp::*posted,
                                             const char* verb, const ibv_qp* qp) noexcept {
  note_failure(verb, rc);
  if (state::Qp* const one = state::find_qp(qp, qp->qp_num))
    state::add(one->*posted, ~std::uint64_t{0});
  return rc;
}

// The usual call has one work request. It is counted before it is posted, which leaves nothing to
// be done after a success.
template <class Wr>
[[gnu::always_inline]] inline int post(Post<Wr> real, state::Counter state::Qp::*posted,
                                       const char* verb, ibv_qp* qp, Wr* wr, Wr** bad) noexcept {
  state::Qp* const one = state::first_qp(qp->qp_num);
  if (one == nullptr || one->qp.load(std::memory_order_relaxed) != qp || wr == nullptr ||
      wr->next != nullptr) [[unlikely]]
    return post_any(real, posted, verb, qp, wr, bad);
  state::add(one->*posted, 1);
  const int rc = real(qp, wr, bad);
  return rc == 0 ? rc : post_failed(rc, posted, verb, qp);
}

template <std::size_t N>
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  return post(g_real<PostSend>[N].load(std::memory_order_relaxed), &state::Qp::sends, "post_send",
              qp, wr, bad);
}

template <std::size_t N>
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post(g_real<PostRecv>[N].load(std::memory_order_relaxed), &state::Qp::recvs, "post_recv",
              qp, wr, bad);
}

template <class F, std::size_t... N>
std::array<F, kMaxProviders> trampolines(std::index_sequence<N...>) {
  if constexpr (std::is_same_v<F, PollCq>)
    return {&poll_cq<N>...};
  else if constexpr (std::is_same_v<F, PostSend>)
    return {&post_send<N>...};
  else
    return {&post_recv<N>...};
}

template <class F>
bool patch(F& slot) {
  static const auto ours = trampolines<F>(std::make_index_sequence<kMaxProviders>{});
  if (slot == nullptr) return true;
  for (const F own : ours)
    if (slot == own) return true;
  for (std::size_t i = 0; i < kMaxProviders; ++i) {
    const F known = g_real<F>[i].load(std::memory_order_relaxed);
    if (known != nullptr && known != slot) continue;
    g_real<F>[i].store(slot, std::memory_order_release);
    slot = ours[i];
    return true;
  }
  return false;
}

context::ForkMutex g_mutex;

}  // namespace

bool patch_ops(ibv_context& context) {
  const std::lock_guard lock(g_mutex);
  const bool sends = patch(context.ops.post_send);
  const bool recvs = patch(context.ops.post_recv);
  const bool polls = patch(context.ops.poll_cq);
  return sends && recvs && polls;
}

}  // namespace nnd::verbs

#include "verbs/ops.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include "context/fork_mutex.h"
#include "verbs/clock.h"
#include "verbs/completion.h"
#include "verbs/fields.h"
#include "verbs/qp_table.h"

namespace nnd::verbs {
namespace {

using PostSend = int (*)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
using PostRecv = int (*)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**);
using PollCq = int (*)(ibv_cq*, int, ibv_wc*);

// One real function per trampoline. Written once, before the trampoline is handed out.
template <class F>
std::array<std::atomic<F>, kMaxProviders> g_real{};

// A context's CQ tells of its own QPs only; NCCL polls up to four completions at a time.
void count_completions(const ibv_cq* cq, int n, const ibv_wc* wc) noexcept {
  const QpTable& table = qp_table();
  const std::int64_t now = coarse_ns();
  for (int i = 0; i < n; ++i) {
    QpRecord* record = table.by_number(cq->context, wc[i].qp_num);
    if (wc[i].status != IBV_WC_SUCCESS) [[unlikely]] {
      completion_failed(cq, record, wc[i]);
      continue;
    }
    if (record == nullptr) continue;
    bump(record->completed);
    record->last_success_ns.store(now, std::memory_order_relaxed);
  }
}

template <std::size_t N>
int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc) {
  const int n = g_real<PollCq>[N].load(std::memory_order_relaxed)(cq, entries, wc);
  if (n > 0) [[unlikely]]
    count_completions(cq, n, wc);
  return n;
}

template <class Wr>
std::uint64_t length_until(const Wr* wr, const Wr* bad) noexcept {
  std::uint64_t count = 0;
  for (; wr != nullptr && wr != bad; wr = wr->next) ++count;
  return count;
}

template <std::size_t N>
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  const int rc = g_real<PostSend>[N].load(std::memory_order_relaxed)(qp, wr, bad);
  if (rc != 0) [[unlikely]]
    note_failure("post_send", rc);
  if (QpRecord* record = qp_table().by_pointer(qp))
    bump(record->sends, length_until(wr, rc == 0 ? nullptr : *bad));
  return rc;
}

template <std::size_t N>
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const int rc = g_real<PostRecv>[N].load(std::memory_order_relaxed)(qp, wr, bad);
  if (rc != 0) [[unlikely]]
    note_failure("post_recv", rc);
  if (QpRecord* record = qp_table().by_pointer(qp))
    bump(record->recvs, length_until(wr, rc == 0 ? nullptr : *bad));
  return rc;
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
  (void)qp_table();  // made now, not by the first completion
  const bool sends = patch(context.ops.post_send);
  const bool recvs = patch(context.ops.post_recv);
  const bool polls = patch(context.ops.poll_cq);
  return sends && recvs && polls;
}

}  // namespace nnd::verbs

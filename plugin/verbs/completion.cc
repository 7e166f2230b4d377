#include "verbs/completion.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "context/quiet.h"
#include "diagnosis/completion_status.h"
#include "facts/counters.h"
#include "verbs/clock.h"
#include "verbs/failures.h"
#include "verbs/fields.h"
#include "verbs/gid.h"

namespace nnd::verbs {
namespace {

using record::Event;
using record::EventId;
using record::Severity;

struct Story {
  state::QpInfo qp;
  std::uint64_t completed = 0;
  std::int64_t age_us = -1;  // since the last success; -1: there was none
};

// What the port had counted when it was last read; what it counts now follows as an event of its
// own (plugin/watch): to ask the HCA is not for NCCL's thread.
void add_counters(Event& event, const state::QpInfo& qp) {
  const facts::Counts counts = facts::counted(qp.device, qp.port);
  if (counts.empty()) return;
  event.array("counters").push_object().add("name", qp.device).add("port", qp.port);
  event.object("grown");
  for (const auto& [name, by] : counts) event.add(name, by);
  event.end().end().end();
}

void tell(const Story& story, const ibv_wc& wc) {
  Event event(EventId::kWcError, Severity::kError);
  if (!event.enabled()) return;
  const state::QpInfo& qp = story.qp;
  const bool worked = story.age_us >= 0;
  add_connection(event, qp.conn, qp.owner);
  add_device(event,
             {.name = qp.device, .port = qp.port, .gid_index = qp.gid_index, .gid = qp.local_gid});
  add_peer(event, {.proc = qp.conn.peer_proc, .gid = qp.remote_gid});
  event.object("qp").add("num", wc.qp_num);
  if (qp.remote_num != 0) event.add("remote_num", qp.remote_num);
  event.end();
  event.object("wc")
      .add("status", static_cast<int>(wc.status))
      .add("status_name", diagnosis::completion_status_name(wc.status))
      .add("vendor_err", wc.vendor_err)
      .hex("vendor_err_hex", wc.vendor_err)
      .hex("wr_id", wc.wr_id)
      .add("completed", story.completed);
  if (worked) event.add("last_success_age_us", story.age_us);
  event.add("history", worked ? "worked, then died" : "never worked").end();
  add_counters(event, qp);
  const diagnosis::Path path = wc.status == IBV_WC_RETRY_EXC_ERR ? path_of(qp) : diagnosis::Path();
  add_path(event, path);
  const state::Failure failure =
      register_failed_completion(qp, wc, story.completed, story.age_us, path);
  event.diagnose(failure.diagnosis, failure.number).emit();
  facts::need_counters({qp.device, qp.port, qp.conn.id, failure.number, failure.diagnosis.cause});
}

// Whether this failure is news. A flush is none after any error; an error is, even after a flush.
bool first_of_its_kind(state::Qp& record, int status) noexcept {
  if (status != IBV_WC_WR_FLUSH_ERR)
    return (record.told.fetch_or(state::Qp::kErrorTold, std::memory_order_relaxed) &
            state::Qp::kErrorTold) == 0;
  return record.told.fetch_or(state::Qp::kFlushTold, std::memory_order_relaxed) == 0;
}

// For the net layer, which gets an error from the transport's test next, on this thread.
void note_completion(state::Qp& record, int status) {
  std::uint32_t conn = 0;
  context::Gid peer{};
  context::quietly([&] {
    const std::lock_guard lock(record.mutex);
    conn = record.info.conn.id;
    peer = record.info.remote_gid;
  });
  state::FailedCompletion& failed = state::failed_completion();
  // The first error is the cause, flushes follow from it.
  const bool explained =
      failed.conn == conn && failed.status != IBV_WC_WR_FLUSH_ERR && failed.holds();
  if (conn != 0 && !explained)
    failed = {conn, status, peer, &record, record.completed.load(std::memory_order_relaxed)};
}

constexpr unsigned kMaxStrangers = 16;  // failures told of QPs whose creation wasn't seen
std::atomic<unsigned> g_strangers{0};

}  // namespace

void completion_failed(const ibv_context* context, state::Qp* record, const ibv_wc& wc) noexcept {
  Story story;
  if (record == nullptr) {
    if (wc.status == IBV_WC_WR_FLUSH_ERR || g_strangers.fetch_add(1) >= kMaxStrangers) return;
    context::quietly([&] {
      story.qp.owner = "unknown";
      story.qp.device = device_name(context);
      tell(story, wc);
    });
    return;
  }
  state::add(record->failed, 1);
  note_completion(*record, wc.status);
  if (!first_of_its_kind(*record, wc.status)) return;
  context::quietly([&] {
    {
      const std::lock_guard lock(record->mutex);
      story.qp = record->info;
    }
    story.completed = record->completed.load(std::memory_order_relaxed);
    if (const std::uint64_t last = record->last_success.load(std::memory_order_relaxed); last != 0)
      story.age_us = age_us(last);
    tell(story, wc);
  });
}

}  // namespace nnd::verbs

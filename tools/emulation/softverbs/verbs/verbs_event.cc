// Async events, and names of things.
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <unordered_set>

#include "softverbs/verbs/completion.h"
#include "softverbs/verbs/exports.h"

namespace softverbs {

namespace {

bool about_cq(int event) { return event == IBV_EVENT_CQ_ERR; }

bool about_qp(int event) {
  return event == IBV_EVENT_QP_FATAL || event == IBV_EVENT_QP_REQ_ERR ||
         event == IBV_EVENT_QP_ACCESS_ERR || event == IBV_EVENT_COMM_EST ||
         event == IBV_EVENT_SQ_DRAINED || event == IBV_EVENT_QP_LAST_WQE_REACHED;
}

// Objects of which an event may be read: one that is destroyed takes its unread events with it.
std::mutex alive_mutex;
std::unordered_set<const void*> alive;

}  // namespace

void expect_events(const void* object) {
  const std::scoped_lock lock(alive_mutex);
  alive.insert(object);
}

void forget_events(const void* object) {
  const std::scoped_lock lock(alive_mutex);
  alive.erase(object);
}

// Counts the event as delivered. False: its object is gone.
static bool deliver(const ibv_async_event& event) {
  const std::scoped_lock lock(alive_mutex);
  if (about_cq(event.event_type)) {
    if (!alive.count(event.element.cq)) return false;
    cq_of(event.element.cq)->events.delivered.fetch_add(1);
  } else if (about_qp(event.event_type)) {
    if (!alive.count(event.element.qp)) return false;
    qp_of(event.element.qp)->events.delivered.fetch_add(1);
  }
  return true;
}

}  // namespace softverbs

using namespace softverbs;

extern "C" {

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  for (;;) {
    const ssize_t got = ::read(context->async_fd, event, sizeof *event);
    if (got != sizeof *event) return -1;
    if (deliver(*event)) return 0;
  }
}

void ibv_ack_async_event(ibv_async_event* event) {
  EventCount* count = nullptr;
  if (about_cq(event->event_type)) count = &cq_of(event->element.cq)->events;
  if (about_qp(event->event_type)) count = &qp_of(event->element.qp)->events;
  if (!count) return;
  count->acknowledged.fetch_add(1);
  count->acknowledged.notify_all();
}

const char* ibv_event_type_str(ibv_event_type event) {
  static const char* const names[] = {"CQ error",
                                      "local work queue catastrophic error",
                                      "invalid request local work queue error",
                                      "local access violation work queue error",
                                      "communication established",
                                      "send queue drained",
                                      "path migrated",
                                      "path migration request error",
                                      "local catastrophic error",
                                      "port active",
                                      "port error",
                                      "LID change",
                                      "P_Key change",
                                      "SM change",
                                      "SRQ catastrophic error",
                                      "SRQ limit reached",
                                      "last WQE reached",
                                      "client reregistration",
                                      "GID table change",
                                      "WQ fatal"};
  if (event < IBV_EVENT_CQ_ERR || event > IBV_EVENT_WQ_FATAL) return "unknown";
  return names[event];
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  static const char* const names[] = {"success",
                                      "local length error",
                                      "local QP operation error",
                                      "local EE context operation error",
                                      "local protection error",
                                      "Work Request Flushed Error",
                                      "memory management operation error",
                                      "bad response error",
                                      "local access error",
                                      "remote invalid request error",
                                      "remote access error",
                                      "remote operation error",
                                      "transport retry counter exceeded",
                                      "RNR retry counter exceeded",
                                      "local RDD violation error",
                                      "remote invalid RD request",
                                      "aborted error",
                                      "invalid EE context number",
                                      "invalid EE context state",
                                      "fatal error",
                                      "response timeout error",
                                      "general error"};
  if (status < IBV_WC_SUCCESS || status > IBV_WC_GENERAL_ERR) return "unknown";
  return names[status];
}

const char* ibv_port_state_str(ibv_port_state state) {
  static const char* const names[] = {"no state change (NOP)", "down", "init", "armed", "active",
                                      "active defer"};
  if (state < IBV_PORT_NOP || state > IBV_PORT_ACTIVE_DEFER) return "invalid state";
  return names[state];
}

const char* ibv_node_type_str(ibv_node_type type) {
  return type == IBV_NODE_CA ? "InfiniBand channel adapter" : "unknown";
}

}  // extern "C"

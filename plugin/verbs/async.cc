// Asynchronous events of devices, ports, QPs and CQs: the event port.event.
#include "diagnosis/async.h"

#include <fmt/format.h>

#include <string>

#include "context/clock.h"
#include "context/quiet.h"
#include "state/failure.h"
#include "state/ports.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/handlers.h"
#include "verbs/names.h"

namespace nnd::verbs::handlers {
namespace {

using record::Event;
using record::EventId;
using record::Severity;

enum class Scope : std::uint8_t { kDevice, kPort, kQp, kCq, kOther };

Scope scope_of(int event) noexcept {
  switch (event) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      return Scope::kPort;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return Scope::kQp;
    case IBV_EVENT_CQ_ERR:
      return Scope::kCq;
    case IBV_EVENT_DEVICE_FATAL:
      return Scope::kDevice;
    default:
      return Scope::kOther;
  }
}

Severity severity_of(int event) noexcept {
  switch (event) {
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_SRQ_ERR:
      return Severity::kError;
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_GID_CHANGE:
      return Severity::kWarn;
    default:
      return Severity::kInfo;
  }
}

diagnosis::DeviceReport::Kind kind_of(int event) noexcept {
  using Kind = diagnosis::DeviceReport::Kind;
  return event == IBV_EVENT_PORT_ERR     ? Kind::kPortDown
         : event == IBV_EVENT_GID_CHANGE ? Kind::kGidChange
                                         : Kind::kFatal;
}

// A warning is no failure: whether something fails of it is to be seen. What no connection owns is
// the device's.
std::uint32_t failure_of(const diagnosis::Diagnosis& told, Severity severity, std::uint32_t conn,
                         const std::string& place, const std::string& device) {
  if (severity == Severity::kInfo) return 0;
  if (severity == Severity::kWarn) return state::begin_port_suspicion(place, told).number;
  return conn != 0 ? state::begin_failure({conn, device, {}, {}}, told).number
                   : state::begin_device_failure(device, told).number;
}

// Whose QPs use a port or device, and what has become of the addresses that they send from: asked
// on the thread on which NCCL waits for events, as NCCL asks before it makes a QP.
void add_users(const Library& lib, ibv_context* context, unsigned port,
               const state::PortUsers& users, diagnosis::DeviceReport& report) {
  report.connections = users.connections;
  for (const context::Gid& peer : users.peers) report.peers.push_back(address_text(peer));
  if (report.kind != diagnosis::DeviceReport::Kind::kGidChange) return;
  for (const state::PortUsers::Source& source : users.sources) {
    ibv_gid now{};
    if (lib.real.query_gid(context, static_cast<std::uint8_t>(source.port), source.gid_index,
                           &now) != 0)
      continue;
    const std::string device = device_name(context);
    if (raw_of(now) == source.gid) {
      state::gid_came(device, port, source.gid);
      continue;
    }
    state::gid_went(device, port, source.gid, context::mono_ns());
    report.gone.push_back(
        fmt::format("{} at index {}", address_text(source.gid), source.gid_index));
  }
}

void tell(const Library& lib, ibv_context* context, const ibv_async_event& seen) {
  const int type = seen.event_type;
  const Scope scope = scope_of(type);
  if (type == IBV_EVENT_GID_CHANGE) forget_gids(context);
  const std::string kind(event_kind(type));
  const unsigned port = scope == Scope::kPort ? static_cast<unsigned>(seen.element.port_num) : 0;
  const std::string device = device_name(context);
  state::QpInfo qp;
  if (scope == Scope::kQp && seen.element.qp != nullptr) {
    if (state::Qp* record = state::find_qp(seen.element.qp, seen.element.qp->qp_num)) {
      const std::lock_guard lock(record->mutex);
      qp = record->info;
    }
    qp.num = seen.element.qp->qp_num;
  }
  diagnosis::DeviceReport report{.kind = kind_of(type), .place = device, .words = kind};
  if (port != 0) report.place += ":" + std::to_string(port);
  if (scope == Scope::kQp) report.place += " QP " + std::to_string(qp.num);
  std::uint64_t was_down_ns = 0;
  if (type == IBV_EVENT_PORT_ERR) state::port_went_down(device, port, context::mono_ns());
  if (type == IBV_EVENT_PORT_ERR) report.times = state::history_of(device, port).downs;
  if (type == IBV_EVENT_PORT_ACTIVE)
    was_down_ns = state::port_came_up(device, port, context::mono_ns());
  state::PortUsers users;
  if (scope == Scope::kPort || scope == Scope::kDevice) {
    users = state::users_of(device, port);
    add_users(lib, context, port, users, report);
  }
  const Severity severity =
      severity_of(type) == Severity::kWarn && !harms(report) ? Severity::kInfo : severity_of(type);
  Event event(EventId::kPortEvent, severity);
  if (!event.enabled()) return;
  add_connection(event, qp.conn, qp.owner);
  add_device(event, {.name = device, .port = port != 0 ? port : qp.port});
  if (!users.peers.empty()) add_peer(event, {.gid = users.peers.front()});
  event.add("event", kind).add("event_number", type);
  if (scope == Scope::kQp) event.object("qp").add("num", qp.num).end();
  if (users.connections != 0) event.add("conns", users.connections);
  if (was_down_ns != 0) event.add("dur_us", static_cast<double>(was_down_ns) / 1000);
  if (severity_of(type) != Severity::kInfo) {
    const diagnosis::Diagnosis told = diagnose(report);
    event.diagnose(told, failure_of(told, severity, qp.conn.id, report.place, device));
  }
  event.emit();
}

}  // namespace

// Blocks until the device has something to tell, on a thread of NCCL's own: nothing is held here
// meanwhile.
int get_async_event(const Library& lib, ibv_context* context, ibv_async_event* event) {
  const int rc = lib.real.get_async_event(context, event);
  if (rc == 0) context::quietly([&] { tell(lib, context, *event); });
  return rc;
}

}  // namespace nnd::verbs::handlers

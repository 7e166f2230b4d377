#include "cli/top/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "cli/common/box_slots.h"
#include "cli/common/printable.h"
#include "log/natural_order.h"

namespace nnd::cli {

namespace box = nccl_net_diag::box;

namespace {

// As the box counts them.
constexpr std::uint8_t kSend = 2, kOpening = 2, kReady = 7, kFailed = 8;
static_assert(std::string_view(box::kKindNames[kSend]) == "send" &&
              std::string_view(box::kStageNames[kOpening]) == "opening" &&
              std::string_view(box::kStageNames[kReady]) == "ready" &&
              std::string_view(box::kStageNames[kFailed]) == "failed");

double sec(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

template <typename T>
void take_longer(std::optional<T>& longest, const std::optional<T>& other) {
  if (other && (!longest || *other > *longest)) longest = other;
}

void add(std::optional<double>& sum, const std::optional<double>& other) {
  if (other) sum = sum.value_or(0) + *other;
}

// The counters are copied one after the other while requests begin and end.
std::uint64_t in_flight(const box::ConnSlot& slot) {
  const std::uint64_t ended = slot.completed + slot.failed;
  return slot.started > ended ? slot.started - ended : 0;
}

bool is_unfinished(const box::CommTask& task) {
  return task.func[0] != '\0' && task.ops != task.ops_done;
}

// They are kept with the newest first.
template <std::size_t kKept>
const box::CommTask* oldest_unfinished(const box::CommTask (&tasks)[kKept]) {
  const auto found = std::find_if(std::rbegin(tasks), std::rend(tasks), is_unfinished);
  return found == std::rend(tasks) ? nullptr : &*found;
}

ShownCommunicator show(const box::CommSlot& slot, const box::FileHeader& header) {
  ShownCommunicator out;
  out.slot = slot;
  const auto* task = oldest_unfinished(slot.last_collectives);
  const auto* const transfer = oldest_unfinished(slot.last_transfers);
  out.alone = task == nullptr || transfer == nullptr;
  if (task == nullptr) task = transfer;
  if (task == nullptr)
    task = slot.collectives != 0 ? &slot.last_collectives[0] : &slot.last_transfers[0];
  out.task = *task;
  out.moved_sec = log::seconds_ago(header, task->changed_raw);
  return out;
}

// Of its largest communicator, where that is as large as the launcher's job; else as the launcher
// says.
void set_rank(ShownProcess& out, const log::Launch& launch) {
  const box::CommSlot* largest = nullptr;
  for (const auto& one : out.communicators)
    if (one.slot.rank >= 0 && (largest == nullptr || one.slot.nranks > largest->nranks))
      largest = &one.slot;
  if (largest != nullptr && !launch.has_more_than(largest->nranks)) {
    out.rank = largest->rank;
    if (largest->nranks >= 0) out.nranks = largest->nranks;
  } else {
    out.rank = launch.rank;
    out.nranks = launch.world_size;
  }
}

void add_to(Rail& rail, const ShownConnection& one) {
  if (one.failed())
    ++rail.failed;
  else if (one.being_made())
    ++rail.being_made;
  else
    ++(one.sends() ? rail.sends : rail.receives);
  rail.in_flight += one.in_flight;
  rail.rate.add(one.rate);
  take_longer(rail.wait_sec, one.wait_sec);
  rail.waits_long = rail.waits_long || one.waits_long();
}

void fold(ShownProcess& process) {
  std::map<std::string, Rail> rails;
  for (const auto& one : process.connections) {
    Rail& rail = rails[printable(device_of(one.slot))];
    add_to(rail, one);
    process.rate.add(one.rate);
    process.in_flight += one.in_flight;
  }
  for (auto& [hca, rail] : rails) {
    rail.hca = hca;
    process.rails.push_back(std::move(rail));
  }
  std::sort(process.rails.begin(), process.rails.end(),
            [](const Rail& a, const Rail& b) { return log::natural_less(a.hca, b.hca); });
}

bool comes_before(const ShownProcess& a, const ShownProcess& b) {
  if (a.host != b.host) return log::natural_less(a.host, b.host);
  // Those without a rank come last.
  return std::tuple(!a.rank, a.rank, a.pid) < std::tuple(!b.rank, b.rank, b.pid);
}

}  // namespace

void Rate::add(const Rate& other) {
  cli::add(out, other.out);
  cli::add(in, other.in);
}

bool ShownConnection::sends() const { return slot.kind == kSend; }

bool ShownConnection::being_made() const { return slot.stage >= kOpening && slot.stage < kReady; }

bool ShownConnection::failed() const { return slot.stage == kFailed || slot.failed != 0; }

bool ShownConnection::waits_long() const {
  return wait_sec && *wait_sec >= (being_made() ? kConnectSec : kStallSec);
}

// A request in flight has waited since it was posted, or since another completed. The box knows the
// last post alone; who has looked before knows that there was one in flight then.
ShownConnection Tracker::show(const box::ConnSlot& slot, const box::FileHeader& header,
                              const Known* before, Known& now) {
  ShownConnection out;
  out.slot = slot;
  out.in_flight = slot.stage == kReady ? in_flight(slot) : 0;
  Before& memory = now.connections[slot.conn];
  memory.bytes = slot.bytes;
  memory.ended = slot.completed + slot.failed;
  memory.in_flight = out.in_flight;
  const Before* last = nullptr;
  if (before != nullptr)
    if (const auto found = before->connections.find(slot.conn); found != before->connections.end())
      last = &found->second;
  if (out.being_made()) {
    memory.since_ns = slot.opened_mono_ns;
  } else if (out.in_flight != 0) {
    memory.since_ns = std::max(log::mono_of(header, slot.last_post_raw),
                               log::mono_of(header, slot.last_done_raw));
    if (last != nullptr && last->in_flight != 0 && last->ended == memory.ended &&
        last->since_ns != 0)
      memory.since_ns = std::min(memory.since_ns, last->since_ns);
  }
  if (memory.since_ns != 0)
    out.wait_sec =
        sec(header.alive_mono_ns > memory.since_ns ? header.alive_mono_ns - memory.since_ns : 0);
  if (before != nullptr && header.alive_mono_ns > before->alive_ns) {
    // One that is new has moved all its bytes since.
    const std::uint64_t had = last != nullptr ? last->bytes : 0;
    const double gbit = static_cast<double>(slot.bytes > had ? slot.bytes - had : 0) * 8 / 1e9;
    (out.sends() ? out.rate.out : out.rate.in) =
        gbit / sec(header.alive_mono_ns - before->alive_ns);
  }
  return out;
}

View Tracker::see(const Look& look) {
  View out;
  if (mono_ns_ != 0) out.seconds = sec(look.mono_ns - mono_ns_);
  mono_ns_ = look.mono_ns;
  out.unread = look.unread;
  std::map<std::uint64_t, Known> known;
  for (const auto& seen : look.processes) {
    const auto& header = seen.header;
    const auto found = known_.find(header.proc_id);
    const Known* const before = found == known_.end() ? nullptr : &found->second;
    Known& now = known[header.proc_id];
    now.alive_ns = header.alive_mono_ns;
    ShownProcess one;
    one.pid = seen.pid;
    one.header = header;
    one.host = printable(header.host);
    one.proc = fmt::format("{:#x}", header.proc_id);
    const double silent =
        look.mono_ns > header.alive_mono_ns ? sec(look.mono_ns - header.alive_mono_ns) : 0;
    if (silent >= kSilentSec && (before == nullptr || before->alive_ns == header.alive_mono_ns))
      one.silent_sec = silent;
    for (const auto& slot : seen.conns) one.connections.push_back(show(slot, header, before, now));
    std::sort(one.connections.begin(), one.connections.end(),
              [](const auto& a, const auto& b) { return a.slot.conn < b.slot.conn; });
    for (const auto& slot : seen.comms) one.communicators.push_back(cli::show(slot, header));
    set_rank(one, seen.launch.value_or(log::Launch()));
    fold(one);
    now.who = {one.pid, one.rank};
    out.processes.push_back(std::move(one));
  }
  for (const auto& [proc, before] : known_)
    if (!known.contains(proc)) out.ended.push_back(before.who);
  known_ = std::move(known);
  std::sort(out.processes.begin(), out.processes.end(), comes_before);
  return out;
}

}  // namespace nnd::cli

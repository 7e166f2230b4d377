#include "cli/top/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <tuple>

#include "cli/common/box_slots.h"
#include "cli/common/printable.h"
#include "cli/top/users.h"
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

// "slurm job 4711"; empty: its launcher doesn't say.
std::string job_of(const log::Launch& launch) {
  if (launch.job.empty()) return {};
  return launch.launcher.empty() ? "job " + launch.job
                                 : fmt::format("{} job {}", launch.launcher, launch.job);
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

bool moved_lately(const ShownProcess& process) {
  return std::any_of(process.connections.begin(), process.connections.end(),
                     [&](const ShownConnection& one) {
                       const auto done = log::seconds_ago(process.header, one.slot.last_done_raw);
                       return done && *done < kStallSec;
                     });
}

// A sender waits for its peer's receive without a request in flight.
void find_stuck(ShownProcess& process) {
  if (moved_lately(process)) return;
  for (auto& one : process.communicators)
    one.stuck = one.unfinished() && one.moved_sec.value_or(0) >= kStallSec;
}

// Which processes are of one job: those of a user whose launcher says so, or who share a
// communicator.
void set_groups(View& view) {
  std::vector<ShownProcess*> all;
  for (auto& process : view.processes) all.push_back(&process);
  for (auto& one : view.ended) all.push_back(&one.last);
  std::map<std::pair<std::string, std::string>, std::size_t> known;  // by user and sign
  for (std::size_t i = 0; i < all.size(); ++i) {
    ShownProcess& process = *all[i];
    process.group = i;
    std::vector<std::string> signs;
    if (!process.job.empty()) signs.push_back(process.job);
    for (const auto& one : process.communicators)
      if (one.slot.hash != 0) signs.push_back(fmt::format("{:#x}", one.slot.hash));
    if (signs.empty()) signs.emplace_back();  // whose job isn't known yet
    for (const auto& sign : signs) {
      const auto [found, is_new] = known.emplace(std::pair(process.user, sign), process.group);
      const std::size_t other = found->second, own = process.group;
      if (is_new || other == own) continue;
      for (auto* const one : all)
        if (one->group == own) one->group = other;
      for (auto& [key, group] : known)
        if (group == own) group = other;
    }
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

void fold(const std::map<std::string, std::int64_t>& port_mbps, ShownProcess& process) {
  std::map<std::string, Rail> rails;
  for (const auto& one : process.connections) {
    Rail& rail = rails[printable(device_of(one.slot))];
    add_to(rail, one);
    process.rate.add(one.rate);
    process.in_flight += one.in_flight;
  }
  for (auto& [hca, rail] : rails) {
    rail.hca = hca;
    if (const auto port = port_mbps.find(hca); port != port_mbps.end())
      rail.port_gbit = static_cast<double>(port->second) / 1000;
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

std::optional<double> Rail::of_port() const {
  if (port_gbit <= 0 || (!rate.out && !rate.in)) return std::nullopt;
  return std::max(rate.out.value_or(0), rate.in.value_or(0)) / port_gbit;
}

ShownProcess::State ShownProcess::state() const {
  const auto any = [this](bool (ShownConnection::*is)() const) {
    return std::any_of(connections.begin(), connections.end(), std::mem_fn(is));
  };
  if (silent_sec || any(&ShownConnection::failed)) return State::kFailing;
  const bool stuck = std::any_of(communicators.begin(), communicators.end(),
                                 [](const ShownCommunicator& one) { return one.stuck; });
  return stuck || any(&ShownConnection::waits_long) ? State::kWaits : State::kWell;
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

// Who has a successor, as after a restart, is missed by nobody.
void Tracker::see_ended(const Look& look, const std::map<ProcessKey, Known>& now, View& out) {
  for (auto& one : gone_) one.who.just_now = false;
  for (const auto& [key, before] : known_)
    if (!now.contains(key)) {
      Ended who;
      who.last = before.shown;
      who.box = before.box;
      who.died = look.died.contains(key);
      gone_.insert(gone_.begin(), {std::move(who), look.mono_ns});
    }
  std::erase_if(gone_, [&](const Gone& one) {
    const auto& last = one.who.last;
    const auto follows = [&](const ShownProcess& other) {
      return !last.job.empty() && last.rank && other.user == last.user && other.job == last.job &&
             other.rank == last.rank;
    };
    return sec(look.mono_ns - one.at_ns) > kEndedSec ||
           std::any_of(out.processes.begin(), out.processes.end(), follows);
  });
  for (auto& one : gone_) {
    one.who.ago_sec = sec(look.mono_ns - one.at_ns);
    out.ended.push_back(one.who);
  }
}

View Tracker::see(const Look& look) {
  View out;
  if (mono_ns_ != 0) out.seconds = sec(look.mono_ns - mono_ns_);
  mono_ns_ = look.mono_ns;
  out.real_ns = look.real_ns;
  out.unread = look.unread;
  std::map<ProcessKey, Known> known;
  for (const auto& seen : look.processes) {
    const auto& header = seen.header;
    const auto found = known_.find(key_of(seen));
    const Known* const before = found == known_.end() ? nullptr : &found->second;
    Known& now = known[key_of(seen)];
    now.alive_ns = header.alive_mono_ns;
    now.box = printable(seen.named.string());
    ShownProcess one;
    one.pid = seen.pid;
    if (seen.user != viewer_) one.user = printable(user_name(seen.user));
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
    const auto launch = seen.launch.value_or(log::Launch());
    one.job = job_of(launch);
    one.job_id = launch.job;
    set_rank(one, launch);
    find_stuck(one);
    fold(seen.port_mbps, one);
    now.shown = one;
    out.processes.push_back(std::move(one));
  }
  see_ended(look, known, out);
  known_ = std::move(known);
  std::sort(out.processes.begin(), out.processes.end(), comes_before);
  set_groups(out);
  for (auto& one : out.ended)
    one.missed = std::any_of(out.processes.begin(), out.processes.end(),
                             [&](const auto& process) { return process.group == one.last.group; });
  return out;
}

}  // namespace nnd::cli

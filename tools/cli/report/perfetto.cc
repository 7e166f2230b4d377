#include "cli/report/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cli/report/names.h"
#include "cli/report/sink_text.h"

namespace nnd::cli {

using nlohmann::json;
using report::Ns;
using report::Picture;
using report::Report;

namespace {

// One event a line: a trace of a big job is never in memory at once.
class Trace {
 public:
  Trace(std::ostream& out, Ns begin) : out_(out), begin_(begin) { out_ << "{\"traceEvents\":[\n"; }
  ~Trace() { out_ << "\n]}\n"; }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void add(json event) {
    out_ << (first_ ? "" : ",\n") << event.dump(-1, ' ', false, json::error_handler_t::replace);
    first_ = false;
  }
  void slice(std::size_t process, std::uint64_t thread, const std::string& name, Ns from, Ns to,
             json args = json::object()) {
    add({{"ph", "X"},
         {"name", name},
         {"pid", process},
         {"tid", thread},
         {"ts", us(from)},
         {"dur", static_cast<double>(std::max<Ns>(to - from, 0)) / 1000},
         {"args", std::move(args)}});
  }
  void instant(std::size_t process, std::uint64_t thread, const std::string& name, Ns at,
               json args) {
    add({{"ph", "i"},
         {"s", "t"},
         {"name", name},
         {"pid", process},
         {"tid", thread},
         {"ts", us(at)},
         {"args", std::move(args)}});
  }
  // An arrow between two slices: from the one on that thread at that time to the other, which is no
  // earlier.
  struct Place {
    std::size_t process = 0;
    std::uint64_t thread = 0;
    Ns at = 0;
  };
  void arrow(const char* kind, Place from, Place to) {
    if (to.at < from.at) std::swap(from, to);
    const auto id = ++arrows_;
    for (const bool begins : {true, false}) {
      const Place& place = begins ? from : to;
      json event{
          {"ph", begins ? "s" : "f"}, {"cat", kind},         {"id", id},          {"name", kind},
          {"pid", place.process},     {"tid", place.thread}, {"ts", us(place.at)}};
      if (!begins) event["bp"] = "e";  // the slice around it, not the next one
      add(std::move(event));
    }
  }
  // Of what may overlap: each has a track of its own.
  void span(std::size_t process, const std::string& name, Ns from, Ns to, json args) {
    const auto id = ++spans_;
    add({{"ph", "b"},
         {"cat", "stall"},
         {"id", id},
         {"name", name},
         {"pid", process},
         {"tid", 0},
         {"ts", us(from)},
         {"args", std::move(args)}});
    add({{"ph", "e"},
         {"cat", "stall"},
         {"id", id},
         {"name", name},
         {"pid", process},
         {"tid", 0},
         {"ts", us(std::max(from, to))}});
  }
  void counter(std::size_t process, const char* name, Ns at, std::int64_t value) {
    add({{"ph", "C"},
         {"name", name},
         {"pid", process},
         {"tid", 0},
         {"ts", us(at)},
         {"args", {{name, value}}}});
  }
  void name(const char* what, std::size_t process, std::uint64_t thread, const std::string& name) {
    add({{"ph", "M"},
         {"name", what},
         {"pid", process},
         {"tid", thread},
         {"args", {{"name", name}}}});
  }

 private:
  double us(Ns at) const { return static_cast<double>(at - begin_) / 1000; }

  std::ostream& out_;
  Ns begin_;
  std::uint64_t spans_ = 0, arrows_ = 0;
  bool first_ = true;
};

// A number over time, from its steps.
class Counter {
 public:
  void step(Ns at, std::int64_t by) { steps_[at] += by; }
  void write(Trace& trace, std::size_t process, const char* name) const {
    std::int64_t value = 0;
    for (const auto& [at, by] : steps_) trace.counter(process, name, at, value += by);
  }

 private:
  std::map<Ns, std::int64_t> steps_;
};

// Of a process, and of all of them together.
struct Counters {
  Counter connected, waiting, failures;

  void write(Trace& trace, std::size_t process) const {
    connected.write(trace, process, "connections");
    waiting.write(trace, process, "connections that wait");
    failures.write(trace, process, "failures");
  }
};

void step(Counter& one, Counter& all, Ns at, std::int64_t by) {
  one.step(at, by);
  all.step(at, by);
}

std::string title(const log::Connection& connection, std::uint64_t number) {
  return fmt::format("conn {} {} {}{}", number,
                     connection.dir ? log::name_of(*connection.dir) : "?", connection.dev.name,
                     connection.peer.gid.empty() ? "" : " - " + connection.peer.gid);
}

void add_connections(Trace& trace, const Picture& picture, std::size_t index, Counters& own,
                     Counters& all) {
  const auto& member = picture.members[index];
  for (const auto& [number, connection] : member.log->connections) {
    trace.name("thread_name", index, number, title(connection, number));
    const auto at = [&](std::uint64_t mono_ns) {
      return mono_ns != 0 ? picture.at(index, mono_ns) : member.last;
    };
    if (connection.opened_ns != 0)
      trace.slice(index, number, "connecting", at(connection.opened_ns),
                  at(connection.ready_ns != 0 ? connection.ready_ns : connection.closed_ns));
    if (connection.ready_ns == 0) continue;
    trace.slice(
        index, number, "connected", at(connection.ready_ns), at(connection.closed_ns),
        {{"bytes", connection.bytes.value_or(0)}, {"completed", connection.completed.value_or(0)}});
    step(own.connected, all.connected, at(connection.ready_ns), 1);
    if (connection.closed_ns != 0) step(own.connected, all.connected, at(connection.closed_ns), -1);
  }
}

void add_stalls(Trace& trace, const Picture& picture, std::size_t index, Counters& own,
                Counters& all) {
  const auto& member = picture.members[index];
  for (const auto& stall : member.log->stalls) {
    const Ns from = picture.at(index, stall.told.mono_ns) - static_cast<Ns>(stall.age_us * 1000);
    const Ns to = std::max(from, stall.ended_ns ? picture.at(index, *stall.ended_ns) : member.last);
    json args{{"msg", stall.told.msg}};
    if (stall.told.conn) args["conn"] = *stall.told.conn;
    trace.span(index, "stall: " + stall.kind, from, to, std::move(args));
    if (stall.kind == "idle") continue;
    const auto connections =
        static_cast<std::int64_t>(std::min(stall.conns, std::uint64_t{1} << 32));
    step(own.waiting, all.waiting, from, connections);
    step(own.waiting, all.waiting, to, -connections);
  }
}

// The last that a communicator was given. When one began is not kept, only when an operation of it
// moved last: a slice ends there, and begins no earlier than the one before it ended.
void add_collectives(Trace& trace, const Picture& picture, std::size_t index) {
  constexpr std::uint64_t kFirstThread = 1'000'000'000;  // no connection has such a number
  const auto& member = picture.members[index];
  std::uint64_t thread = kFirstThread;
  for (const auto& [hash, communicator] : member.log->communicators) {
    Ns before = member.first;
    bool named = false;
    const auto name_it = [&, &hash = hash, &communicator = communicator] {
      if (std::exchange(named, true)) return;
      trace.name(
          "thread_name", index, ++thread,
          fmt::format("communicator {}{}", hash,
                      communicator.rank ? fmt::format(", rank {}", *communicator.rank) : ""));
    };
    const auto show = [&](const log::Task& task, Ns from, Ns to, bool open) {
      name_it();
      trace.slice(index, thread, task_text(task) + (open ? ", not done" : ""), from, to,
                  {{"ops", task.ops}, {"ops_done", task.ops_done}, {"bytes", task.bytes}});
    };
    const auto& tasks = communicator.tasks;
    for (auto task = tasks.rbegin(); task != tasks.rend(); ++task) {
      if (task->changed_ns == 0) continue;
      const bool open = task->ops != task->ops_done;
      const Ns moved = std::clamp(picture.at(index, task->changed_ns), before, member.last);
      show(*task, before, open ? member.last : moved, open);
      if (open)
        trace.instant(index, thread, "an operation moved last", moved,
                      {{"ops_done", task->ops_done}});
      before = moved;
    }
    if (named || !communicator.waits_in) continue;
    const Ns since = std::clamp(picture.at(index, communicator.mono_ns), member.first, member.last);
    show(*communicator.waits_in, since, member.last, true);
  }
}

// What else was told, as of ports, and who went away.
void add_instants(Trace& trace, const Report& report) {
  const auto& picture = report.picture;
  std::set<const log::Diagnosis*> failures;
  for (const auto& failure : report.failures) failures.insert(failure.told);
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& told : picture.members[i].log->diagnoses) {
      if (failures.contains(&told) || told.event.ends_with("stall")) continue;
      const auto& name = !told.port_event.empty() ? told.port_event
                         : !told.cause.empty()    ? told.cause
                                                  : told.event;
      trace.instant(
          i, 0, name, picture.at(i, told.mono_ns),
          {{"event", told.event}, {"hca", told.dev.name}, {"msg", told.msg}, {"fix", told.fix}});
    }
  for (const auto& loss : report.first.losses)
    trace.instant(loss.member, 0, loss.clean ? "ended" : "gone", loss.at, json::object());
}

// Where on its own track a connection is at that time, or at the time nearest to it; unset: it has
// none.
std::optional<Trace::Place> place_on(const Picture& picture, std::size_t index,
                                     std::uint64_t number, const log::Connection& connection) {
  const std::uint64_t begin = connection.ready_ns != 0 ? connection.ready_ns : connection.opened_ns;
  if (begin == 0) return std::nullopt;
  const Ns from = picture.at(index, begin);
  const Ns to = connection.closed_ns != 0 ? picture.at(index, connection.closed_ns)
                                          : picture.members[index].last;
  return Trace::Place{index, number, from + std::max<Ns>(to - from, 0) / 2000};
}

// From each connection's end that was ready first to the other.
void add_connection_arrows(Trace& trace, const Picture& picture) {
  constexpr std::size_t kMost = 50'000;  // nobody finds his way among more
  if (picture.ends.size() > 2 * kMost) return;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      const auto end = picture.ends.find(&connection);
      if (connection.dir != log::Direction::kSend || end == picture.ends.end()) continue;
      const auto other = picture.by_proc.find(end->second.process->proc);
      if (other == picture.by_proc.end()) continue;
      const auto& theirs = end->second.process->connections;
      const auto same = std::find_if(theirs.begin(), theirs.end(), [&](const auto& one) {
        return &one.second == end->second.connection;
      });
      if (same == theirs.end()) continue;
      const auto here = place_on(picture, i, number, connection),
                 there = place_on(picture, other->second, same->first, same->second);
      if (here && there) trace.arrow("connection", *here, *there);
    }
}

// From who waits to whom it waits for; where that one was gone before, from its end to the wait.
void add_wait_arrows(Trace& trace, const Report& report) {
  const auto alive = [&](std::size_t member, Ns at) {
    constexpr Ns kInside = 1000;
    const auto& one = report.picture.members[member];
    return Trace::Place{member, 0,
                        std::clamp(at, one.first, std::max(one.first, one.last - kInside))};
  };
  for (const auto& wait : report.waits.waits)
    if (wait.peer)
      trace.arrow("wait", alive(wait.member, wait.since), alive(*wait.peer, wait.since));
}

}  // namespace

void write_perfetto(std::ostream& out, const Report& report) {
  const auto& picture = report.picture;
  Trace trace(out, picture.first);
  std::vector<Counters> own(picture.members.size());
  Counters all;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    trace.name("process_name", i, 0, who(picture, {i}));
    trace.name("thread_name", i, 0, "process");
    trace.slice(i, 0, "alive", picture.members[i].first, picture.members[i].last);
    add_connections(trace, picture, i, own[i], all);
    add_stalls(trace, picture, i, own[i], all);
    add_collectives(trace, picture, i);
  }
  add_instants(trace, report);
  add_connection_arrows(trace, picture);
  add_wait_arrows(trace, report);
  for (const auto& failure : report.failures) {
    trace.instant(failure.member, failure.told->conn.value_or(0), failure.told->cause, failure.at,
                  {{"msg", failure.told->msg}, {"fix", failure.told->fix}});
    step(own[failure.member].failures, all.failures, failure.at, 1);
  }
  for (std::size_t i = 0; i < own.size(); ++i) own[i].write(trace, i);
  trace.name("process_name", own.size(), 0, "all processes");
  all.write(trace, own.size());
}

}  // namespace nnd::cli

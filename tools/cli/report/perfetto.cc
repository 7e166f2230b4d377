#include "cli/report/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/report/names.h"

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
  std::uint64_t spans_ = 0;
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
  }
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

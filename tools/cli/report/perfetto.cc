#include "cli/report/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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
  bool first_ = true;
};

std::string title(const log::Connection& connection, std::uint64_t number) {
  return fmt::format("conn {} {} {}{}", number,
                     connection.dir ? log::name_of(*connection.dir) : "?", connection.dev.name,
                     connection.peer.gid.empty() ? "" : " - " + connection.peer.gid);
}

void add_connections(Trace& trace, const Picture& picture, std::size_t index) {
  const auto& member = picture.members[index];
  for (const auto& [number, connection] : member.log->connections) {
    trace.name("thread_name", index, number, title(connection, number));
    const auto at = [&](std::uint64_t mono_ns) {
      return mono_ns != 0 ? picture.at(index, mono_ns) : member.last;
    };
    if (connection.opened_ns != 0)
      trace.slice(index, number, "connecting", at(connection.opened_ns), at(connection.ready_ns));
    if (connection.ready_ns != 0)
      trace.slice(index, number, "connected", at(connection.ready_ns), at(connection.closed_ns),
                  {{"bytes", connection.bytes.value_or(0)},
                   {"completed", connection.completed.value_or(0)}});
  }
}

void add_stalls(Trace& trace, const Picture& picture, std::size_t index) {
  const auto& member = picture.members[index];
  for (const auto& stall : member.log->stalls) {
    const Ns from = picture.at(index, stall.told.mono_ns) - static_cast<Ns>(stall.age_us * 1000);
    trace.slice(index, stall.told.conn.value_or(0), "stall: " + stall.kind, from,
                stall.ended_ns ? picture.at(index, *stall.ended_ns) : member.last,
                {{"msg", stall.told.msg}});
  }
}

}  // namespace

void write_perfetto(std::ostream& out, const Report& report) {
  const auto& picture = report.picture;
  Trace trace(out, picture.first);
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    trace.name("process_name", i, 0, who(picture, {i}));
    trace.slice(i, 0, "alive", picture.members[i].first, picture.members[i].last);
    add_connections(trace, picture, i);
    add_stalls(trace, picture, i);
  }
  for (const auto& failure : report.failures)
    trace.instant(failure.member, failure.told->conn.value_or(0), failure.told->cause, failure.at,
                  {{"msg", failure.told->msg}, {"fix", failure.told->fix}});
}

}  // namespace nnd::cli

#include "cli/top/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cli/common/box_slots.h"
#include "cli/common/number_list.h"
#include "cli/common/printable.h"
#include "cli/common/time_text.h"
#include "cli/top/words.h"

namespace nnd::cli {

namespace box = nccl_net_diag::box;

namespace {

using State = ShownProcess::State;

// Whole seconds: what waits for less, as all that is well does, keeps its place. A process without
// a sign of life is among those that wait.
double order_of(const std::optional<double>& wait_sec, const ShownProcess& process) {
  return std::floor(std::max(wait_sec.value_or(0), process.silent_sec.value_or(0)));
}

State state_of(bool failed, bool waits_long, const ShownProcess& process) {
  if (failed || process.silent_sec) return State::kFailing;
  return waits_long ? State::kWaits : State::kWell;
}

// A row, how bad it is and how long it has waited.
struct Ranked {
  State state = State::kWell;
  double wait = 0;
  TextTable::Row cells;
};

Section worst_first(std::string title, TextTable::Row headings, std::vector<Ranked> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair(a.state, a.wait) > std::pair(b.state, b.wait);
  });
  Section out;
  out.title = std::move(title);
  out.headings = std::move(headings);
  for (auto& row : rows)
    out.rows.push_back({std::move(row.cells),
                        row.state == State::kFailing ? Colour::kRed
                        : row.state == State::kWaits ? Colour::kYellow
                                                     : Colour::kPlain,
                        row.state != State::kWell});
  return out;
}

using Processes = std::vector<const ShownProcess*>;

Section rails_of(const std::string& title, const Processes& processes) {
  const auto any = [&](const auto& is) {
    return std::any_of(processes.begin(), processes.end(), [&](const ShownProcess* process) {
      return std::any_of(process->rails.begin(), process->rails.end(), is);
    });
  };
  const bool any_made = any([](const Rail& rail) { return rail.being_made != 0; });
  const bool any_speed = any([](const Rail& rail) { return rail.port_gbit > 0; });
  const auto cells = [&](const ShownProcess& process, const Rail& rail) {
    TextTable::Row out{or_dash(process.rank), std::to_string(process.pid), rail.hca,
                       std::to_string(rail.sends), std::to_string(rail.receives)};
    if (any_made) out.push_back(std::to_string(rail.being_made));
    out.insert(out.end(), {rate_text(rail.rate.out), rate_text(rail.rate.in)});
    if (any_speed) out.push_back(part_text(rail.of_port()));
    out.insert(out.end(), {std::to_string(rail.in_flight), age_text(rail.wait_sec),
                           std::to_string(rail.failed)});
    return out;
  };
  std::vector<Ranked> rows;
  Rail none;
  none.hca = "-";
  for (const auto* process : processes) {
    for (const auto& rail : process->rails.empty() ? std::vector{none} : process->rails)
      rows.push_back({state_of(rail.failed != 0, rail.waits_long, *process),
                      order_of(rail.wait_sec, *process), cells(*process, rail)});
  }
  TextTable::Row headings{"rank", "pid", "HCA", "send", "recv"};
  if (any_made) headings.push_back("making");
  headings.insert(headings.end(), {"Gbit/s out", "in"});
  if (any_speed) headings.push_back("of port");
  headings.insert(headings.end(), {"in flight", "waits s", "failed"});
  auto out = worst_first(title, std::move(headings), std::move(rows));
  out.may_lack = {"send", "recv", "failed", "in flight", "of port", "in", "Gbit/s out"};
  return out;
}

Section connections_of(const std::string& title, const Processes& processes) {
  std::vector<Ranked> rows;
  for (const auto* process : processes)
    for (const auto& one : process->connections)
      rows.push_back(
          {state_of(one.failed(), one.waits_long(), *process),
           order_of(one.wait_sec, *process),
           {or_dash(process->rank), std::to_string(process->pid), std::to_string(one.slot.conn),
            box::kKindNames[one.slot.kind], peer_of(one.slot),
            one.slot.channel < 0 ? "-" : std::to_string(one.slot.channel),
            printable(device_of(one.slot)), box::kStageNames[one.slot.stage], qps_of(one.slot),
            rate_text(one.rate.out ? one.rate.out : one.rate.in), std::to_string(one.in_flight),
            age_text(one.wait_sec), std::to_string(one.slot.failed)}});
  auto out = worst_first(title,
                         {"rank", "pid", "conn", "dir", "peer", "channel", "HCA", "stage", "QPs",
                          "Gbit/s", "in flight", "waits s", "failed"},
                         std::move(rows));
  out.may_lack = {"QPs", "channel", "conn", "failed", "in flight", "stage", "Gbit/s"};
  return out;
}

// The ranks of a communicator that are at the same task.
struct Stand {
  const ShownCommunicator* one = nullptr;
  std::set<int> ranks;
  std::uint64_t ops = 0, ops_done = 0;
  std::optional<double> moved_sec;  // the longest ago
};

Section communicators_of(const Processes& processes) {
  // Those that aren't known yet are each process's own.
  std::map<std::tuple<std::uint64_t, int, std::string, std::uint64_t, int>, Stand> stands;
  for (const auto* process : processes)
    for (const auto& one : process->communicators) {
      if (one.slot.hash == 0 && one.task.func[0] == '\0') continue;  // nothing is known of it yet
      Stand& stand = stands[{one.slot.hash, one.slot.hash != 0 ? 0 : process->pid, one.task.func,
                             one.task.ordinal, one.task.state}];
      stand.one = &one;
      if (one.slot.rank >= 0) stand.ranks.insert(one.slot.rank);
      stand.ops += one.task.ops;
      stand.ops_done += one.task.ops_done;
      if (one.moved_sec) stand.moved_sec = std::max(stand.moved_sec.value_or(0), *one.moved_sec);
    }
  std::vector<Ranked> rows;
  for (const auto& [key, stand] : stands) {
    const auto& slot = stand.one->slot;
    const bool unfinished = stand.ops != stand.ops_done;
    const double waits = unfinished ? std::floor(stand.moved_sec.value_or(0)) : 0;
    rows.push_back(
        {waits >= kStallSec ? State::kWaits : State::kWell,
         waits,
         {slot.hash == 0 ? "-" : fmt::format("{:#x}", slot.hash),
          or_dash(slot.nranks < 0 ? number_list(stand.ranks)
                                  : fmt::format("{} of {}", number_list(stand.ranks), slot.nranks)),
          printable(task_of(stand.one->task)), bytes_of(stand.one->task),
          or_dash(std::string(box::kTaskStateNames[stand.one->task.state])),
          std::to_string(stand.ops), std::to_string(stand.ops_done), age_text(stand.moved_sec)}});
  }
  auto out = worst_first(
      "", {"communicator", "ranks", "is in", "bytes", "state", "ops", "done", "moved s ago"},
      std::move(rows));
  out.may_lack = {"bytes", "state", "ops", "done"};
  return out;
}

// Those that are no more, and what they were in.
Section ended_of(const View& view) {
  std::vector<Ranked> rows;
  for (const auto& one : view.ended)
    rows.push_back(
        {one.died     ? State::kFailing
         : one.missed ? State::kWaits
                      : State::kWell,
         0,
         {or_dash(one.last.rank), std::to_string(one.last.pid), one.last.host,
          or_dash(one.last.user), one.died ? "died" : "ended", fmt::format("{:.0f}", one.ago_sec),
          what_it_did(one.last), std::to_string(one.last.in_flight)}});
  auto out = worst_first("No more there",
                         {"rank", "pid", "host", "user", "has", "s ago", "was in", "in flight"},
                         std::move(rows));
  out.may_lack = {"user", "in flight", "host", "pid"};
  return out;
}

std::string title_of(const ShownProcess& process, bool several_jobs) {
  std::string out = process.host;
  if (!process.user.empty()) out += ", user " + process.user;
  if (!process.job.empty())
    out += ", " + process.job;
  else if (several_jobs && !process.communicators.empty() &&
           process.communicators[0].slot.hash != 0)
    out += fmt::format(", communicator {:#x}", process.communicators[0].slot.hash);
  return out;
}

// The processes of one job.
struct Job {
  State state = State::kWell;
  Processes processes;  // in the order of their hosts
};

std::vector<Job> jobs_of(const View& view) {
  std::map<std::size_t, Job> jobs;
  for (const auto& process : view.processes) {
    Job& job = jobs[process.group];
    job.state = std::max(job.state, process.state());
    job.processes.push_back(&process);
  }
  for (const auto& one : view.ended)
    if (one.missed) jobs[one.last.group].state = State::kFailing;
  std::vector<Job> out;
  for (auto& [group, job] : jobs)
    if (!job.processes.empty()) out.push_back(std::move(job));
  std::stable_sort(out.begin(), out.end(),
                   [](const Job& a, const Job& b) { return a.state > b.state; });
  return out;
}

// Each host's of a job, and where its communicators are.
void add_job(std::vector<Section>& sections, const Job& job, bool several, bool verbose) {
  const auto state_of_host = [&](const std::string& host) {
    State out = State::kWell;
    for (const auto* process : job.processes)
      if (process->host == host) out = std::max(out, process->state());
    return out;
  };
  std::vector<std::string> hosts;
  for (const auto* process : job.processes)
    if (hosts.empty() || hosts.back() != process->host) hosts.push_back(process->host);
  std::stable_sort(hosts.begin(), hosts.end(), [&](const auto& a, const auto& b) {
    return state_of_host(a) > state_of_host(b);
  });
  for (const auto& host : hosts) {
    Processes here;
    for (const auto* process : job.processes)
      if (process->host == host) here.push_back(process);
    const auto title = title_of(*here[0], several);
    sections.push_back(verbose ? connections_of(title, here) : rails_of(title, here));
  }
  sections.push_back(communicators_of(job.processes));
}

// When it was, and whom to look at: lines above the tables. A command is one line, to be copied.
std::string when_and_whom(const View& view, const Screen& screen) {
  std::vector<std::string> parts;
  if (view.real_ns != 0) parts.push_back(second_text(static_cast<std::int64_t>(view.real_ns)));
  if (const auto look = look_at(view))
    parts.push_back(
        fmt::format("look at {}: {}", look->who, screen.paint(look->command, Colour::kBold)));
  std::string out;
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size() + 3;
  for (const auto& part : parts)
    out += part + (screen.width() != 0 && size > screen.width() ? "\n" : "   ");
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out.empty() ? "" : out + "\n\n";
}

}  // namespace

std::string top_page(const View& view, std::size_t verdict_lines, std::size_t height,
                     const Screen& screen) {
  std::vector<Section> sections;
  sections.push_back(ended_of(view));
  const auto jobs = jobs_of(view);
  for (const auto& job : jobs) add_job(sections, job, jobs.size() > 1, screen.verbose());
  std::erase_if(sections, [](const Section& section) { return section.rows.empty(); });
  const auto first = when_and_whom(view, screen);
  std::string rest;
  if (!view.ras.empty())
    rest += screen.wrap(printable(fmt::format("NCCL's RAS: {}.", view.ras)), 2) + "\n";
  for (const auto& one : view.unread)
    rest += screen.wrap(printable(fmt::format("pid {}: {}", one.pid, one.why)), 2) + "\n";
  const auto lines_in = [](const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  const auto taken =
      verdict_lines + 1 + lines_in(first) + lines_in(rest) + (rest.empty() ? 0U : 1U);
  const std::size_t lines = height == 0 ? 0 : height - std::min(height - 1, taken);
  return first + fitted(sections, lines, screen) + (rest.empty() ? "" : "\n" + rest);
}

std::string top_help(const Screen& screen) {
  const auto part = [&](const char* title, const char* text) {
    return screen.wrap(fmt::format("{}: {}", screen.paint(title, Colour::kBold), text), 2) + "\n";
  };
  return part("Keys",
              "q ends, h or ? shows this and goes back, v a row for each connection and "
              "back, p holds what is shown and goes on.") +
         part("Gbit/s out, in", "of requests that completed since the last look.") +
         part("of port", "the busier direction's share of the port's speed.") +
         part("in flight, waits s",
              "requests that were posted and have not completed, and for how long none has.") +
         part("making", "connections that NCCL has not got yet.") +
         part("moved s ago", "when an operation of that collective began or ended last.") +
         part("died, ended",
              "a process that is no more; one that died left its black box behind.") +
         part("Red, yellow", "what failed or shows no sign of life; what has waited for 10 s.") +
         part("Rows",
              "who is sick comes first; healthy rows and then columns are left out where "
              "there is no room. nccl-net-diag top --json has all.");
}

}  // namespace nnd::cli

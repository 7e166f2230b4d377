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
#include "cli/top/words.h"
#include "log/natural_order.h"

namespace nnd::cli {

namespace box = nccl_net_diag::box;

namespace {

// Whole seconds: what waits for less, as all that is well does, keeps its place. A process without
// a sign of life is among those that wait.
double order_of(const std::optional<double>& wait_sec, const ShownProcess& process) {
  return std::floor(std::max(wait_sec.value_or(0), process.silent_sec.value_or(0)));
}

Colour colour_of(bool failed, bool waits_long, const ShownProcess& process) {
  if (failed) return Colour::kRed;
  return waits_long || process.silent_sec ? Colour::kYellow : Colour::kPlain;
}

// A row and how long it has waited.
using Waiting = std::pair<double, Section::Row>;

Section longest_first(std::string title, TextTable::Row headings, std::vector<Waiting> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Waiting& a, const Waiting& b) { return a.first > b.first; });
  Section out{std::move(title), std::move(headings), {}};
  for (auto& [wait, row] : rows) out.rows.push_back(std::move(row));
  return out;
}

using Processes = std::vector<const ShownProcess*>;

Section rails_of(const std::string& title, const Processes& processes) {
  const bool any_made =
      std::any_of(processes.begin(), processes.end(), [](const ShownProcess* process) {
        return std::any_of(process->rails.begin(), process->rails.end(),
                           [](const Rail& rail) { return rail.being_made != 0; });
      });
  const auto cells = [&](const ShownProcess& process, const Rail& rail) {
    TextTable::Row out{or_dash(process.rank), std::to_string(process.pid), rail.hca,
                       std::to_string(rail.sends), std::to_string(rail.receives)};
    if (any_made) out.push_back(std::to_string(rail.being_made));
    for (auto text :
         {rate_text(rail.rate.out), rate_text(rail.rate.in), std::to_string(rail.in_flight),
          age_text(rail.wait_sec), std::to_string(rail.failed)})
      out.push_back(std::move(text));
    return out;
  };
  std::vector<Waiting> rows;
  Rail none;
  none.hca = "-";
  for (const auto* process : processes) {
    for (const auto& rail : process->rails.empty() ? std::vector{none} : process->rails)
      rows.push_back(
          {order_of(rail.wait_sec, *process),
           {cells(*process, rail), colour_of(rail.failed != 0, rail.waits_long, *process)}});
  }
  TextTable::Row headings{"rank", "pid", "HCA", "send", "recv"};
  if (any_made) headings.push_back("making");
  for (const char* const one : {"Gbit/s out", "in", "in flight", "waits s", "failed"})
    headings.push_back(one);
  return longest_first(title, std::move(headings), std::move(rows));
}

Section connections_of(const std::string& title, const Processes& processes) {
  std::vector<Waiting> rows;
  for (const auto* process : processes)
    for (const auto& one : process->connections)
      rows.push_back(
          {order_of(one.wait_sec, *process),
           {{or_dash(process->rank), std::to_string(process->pid), std::to_string(one.slot.conn),
             box::kKindNames[one.slot.kind], peer_of(one.slot),
             one.slot.channel < 0 ? "-" : std::to_string(one.slot.channel),
             printable(device_of(one.slot)), box::kStageNames[one.slot.stage], qps_of(one.slot),
             rate_text(one.rate.out ? one.rate.out : one.rate.in), std::to_string(one.in_flight),
             age_text(one.wait_sec), std::to_string(one.slot.failed)},
            colour_of(one.failed(), one.waits_long(), *process)}});
  return longest_first(title,
                       {"rank", "pid", "conn", "dir", "peer", "channel", "HCA", "stage", "QPs",
                        "Gbit/s", "in flight", "waits s", "failed"},
                       std::move(rows));
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
  std::vector<Waiting> rows;
  for (const auto& [key, stand] : stands) {
    const auto& slot = stand.one->slot;
    const bool unfinished = stand.ops != stand.ops_done;
    const double waits = unfinished ? std::floor(stand.moved_sec.value_or(0)) : 0;
    rows.push_back(
        {waits,
         {{slot.hash == 0 ? "-" : fmt::format("{:#x}", slot.hash),
           or_dash(slot.nranks < 0
                       ? number_list(stand.ranks)
                       : fmt::format("{} of {}", number_list(stand.ranks), slot.nranks)),
           printable(task_of(stand.one->task)), bytes_of(stand.one->task),
           or_dash(std::string(box::kTaskStateNames[stand.one->task.state])),
           std::to_string(stand.ops), std::to_string(stand.ops_done), age_text(stand.moved_sec)},
          waits >= kStallSec ? Colour::kYellow : Colour::kPlain}});
  }
  return longest_first(
      "", {"communicator", "ranks", "is in", "bytes", "state", "ops", "done", "moved s ago"},
      std::move(rows));
}

// The first rows, and how many there are more.
std::string rendered(const Section& section, std::size_t rows, const Screen& screen) {
  std::string out = section.title.empty() ? "" : section.title + "\n";
  TextTable table(section.headings);
  for (std::size_t i = 0; i < rows; ++i) table.add(section.rows[i].cells, section.rows[i].colour);
  out += table.render(screen);
  if (rows < section.rows.size())
    out += fmt::format("... and {} more row{}\n", section.rows.size() - rows,
                       section.rows.size() - rows == 1 ? "" : "s");
  return out;
}

}  // namespace

std::string fitted(const std::vector<Section>& sections, std::size_t lines, const Screen& screen) {
  std::vector<std::size_t> rows(sections.size());
  std::transform(sections.begin(), sections.end(), rows.begin(), [&](const Section& section) {
    return lines == 0 ? section.rows.size() : std::min(section.rows.size(), lines);
  });
  for (;;) {
    std::string out;
    for (std::size_t i = 0; i < sections.size(); ++i)
      out += (i == 0 ? "" : "\n") + rendered(sections[i], rows[i], screen);
    const auto longest = std::max_element(rows.begin(), rows.end());
    const auto used = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
    if (lines == 0 || used <= lines || longest == rows.end() || *longest == 0) return out;
    --*longest;
  }
}

std::string top_page(const View& view, std::size_t verdict_lines, const Screen& screen) {
  Processes all, here;  // they are in the order of their hosts
  std::vector<Section> sections;
  for (const auto& process : view.processes) {
    all.push_back(&process);
    here.push_back(&process);
    if (&process != &view.processes.back() && (&process + 1)->host == process.host) continue;
    sections.push_back(screen.verbose() ? connections_of(process.host, here)
                                        : rails_of(process.host, here));
    here.clear();
  }
  if (auto communicators = communicators_of(all); !communicators.rows.empty())
    sections.push_back(std::move(communicators));
  std::erase_if(sections, [](const Section& section) { return section.rows.empty(); });
  std::string rest;
  for (const auto& one : view.unread)
    rest += screen.wrap(printable(fmt::format("pid {}: {}", one.pid, one.why)), 2) + "\n";
  const auto taken = verdict_lines + 1 + (rest.empty() ? 0U : 1U) +
                     static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '\n'));
  const std::size_t lines =
      screen.height() == 0 ? 0 : screen.height() - std::min(screen.height() - 1, taken);
  return fitted(sections, lines, screen) + (rest.empty() ? "" : "\n" + rest);
}

}  // namespace nnd::cli

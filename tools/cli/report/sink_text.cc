#include "cli/report/sink_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/common/gid_text.h"
#include "cli/common/time_text.h"
#include "cli/report/names.h"

namespace nnd::cli {

using report::Ns;
using report::Picture;
using report::Report;
using report::Sink;

namespace {

// What an idle process has not come to.
std::string is_behind(const Report& report, const Sink& sink) {
  if (!sink.apart) return {};
  const auto& apart = report.waits.apart[*sink.apart];
  return fmt::format(" and not come to {} of {}", task_text(apart.most.task),
                     communicator_text(report.picture, apart.comm));
}

constexpr const char* kGivenUp =
    ", with requests under way: its communicator was aborted, or NCCL's proxy thread is held there";

// How a process that was late ended, where that was not with all the others.
std::string went_then(const Report& report, const Sink& sink) {
  constexpr Ns kWithOthers = 1'000'000'000;
  if (sink.members.size() != 1) return {};
  const auto& end = report.ends[sink.members.front()];
  if (!end.ended() || end.when.from + kWithOthers > report.picture.last) return {};
  return fmt::format(", and {} at {}",
                     end.kind == report::End::Kind::kLeft ? "ended by itself" : "died",
                     clock_text(end.when.from));
}

// "AllReduce (262144 bytes, ncclFloat32)", "3 Broadcast (1024 to 2047 bytes, ncclInt8)"
std::string call_text(const log::Call& call, std::uint64_t count, bool exact) {
  std::vector<std::string> what;
  if (call.bytes != 0 && exact) what.push_back(fmt::format("{} bytes", call.bytes));
  if (call.bytes != 0 && !exact)
    what.push_back(fmt::format("{} to {} bytes", call.bytes, 2 * call.bytes - 1));
  // NCCL's word for it.
  if (call.datatype == "Unknown") what.emplace_back("a type that NCCL doesn't name, as ncclUint8");
  if (!call.datatype.empty() && call.datatype != "Unknown") what.push_back(call.datatype);
  return fmt::format("{}{}{}", count == 1 ? "" : fmt::format("{} ", count), call.kind,
                     what.empty() ? "" : fmt::format(" ({})", fmt::join(what, ", ")));
}

std::string calls_text(const report::Stand& stand) {
  std::vector<std::string> out;
  for (const auto& [call, count] : stand.calls) out.push_back(call_text(call, count, stand.exact));
  return out.empty() ? "nothing more" : list(out);
}

// "node1 or node2", "one of 12 hosts"
std::string one_of_hosts(const Picture& picture, const std::vector<std::size_t>& members) {
  constexpr std::size_t kMostNamed = 4;
  std::set<std::string> names;
  for (const auto member : members) names.insert(picture.host_of(member).name);
  return names.size() > kMostNamed ? fmt::format("one of {} hosts", names.size())
                                   : fmt::format("{}", fmt::join(names, " or "));
}

// "rank 3 is in AllReduce #1 of A, and ranks 0-2 in AllReduce #40 of B", where those of a ring are
// inside of different communicators; else empty.
std::string inside_text(const Report& report, const Sink& sink) {
  constexpr std::size_t kMostNamed = 3;
  struct Inside {
    const log::Task* task = nullptr;
    std::vector<std::size_t> members;
  };
  std::map<std::string, Inside> all;
  for (const auto member : sink.members) {
    const Inside* own = nullptr;
    for (const auto& [comm, of] : report.picture.members[member].log->communicators) {
      if (!of.waits_in || of.waits_in->ordinal == 0) continue;
      if (own != nullptr) return {};
      Inside& inside = all[comm];
      inside.task = &*of.waits_in;
      inside.members.push_back(member);
      own = &inside;
    }
    if (own == nullptr) return {};
  }
  if (all.size() < 2 || all.size() > kMostNamed) return {};
  std::vector<std::string> out;
  for (const auto& [comm, inside] : all)
    out.push_back(fmt::format("{} {} in {} of {}", who(report.picture, inside.members),
                              inside.members.size() == 1 ? "is" : "are", task_text(*inside.task),
                              communicator_text(report.picture, comm)));
  return fmt::format("{}", fmt::join(out, ", "));
}

bool only_for_data(const Report& report, const Sink& sink) {
  return std::all_of(report.waits.waits.begin(), report.waits.waits.end(), [&](const auto& wait) {
    return wait.stall->kind == "nothing-came" ||
           std::find(sink.members.begin(), sink.members.end(), wait.member) == sink.members.end();
  });
}

}  // namespace

bool are_in_several_communicators(const Report& report, const Sink& sink) {
  return sink.kind == Sink::Kind::kCycle && !inside_text(report, sink).empty();
}

std::string task_text(const log::Task& task) {
  if (task.kind.empty()) return fmt::format("collective {}", task.ordinal);
  const std::string size = task.bytes == 0 ? "" : fmt::format(" ({} bytes)", task.bytes);
  return fmt::format("{} #{}{}", task.kind, task.seq.value_or(task.ordinal), size);
}

std::string apart_text(const Report& report, const report::Apart& apart) {
  const auto most = who(report.picture, apart.most.members);
  const auto others = who(report.picture, apart.others.members);
  const auto communicator = communicator_text(report.picture, apart.comm);
  if (apart.by_calls)
    return fmt::format("mismatched collectives: {} {} given {} where {} {} given {}, in {}", others,
                       apart.others.members.size() == 1 ? "was" : "were", calls_text(apart.others),
                       most, apart.most.members.size() == 1 ? "was" : "were",
                       calls_text(apart.most), communicator);
  if (apart.kind == report::Apart::Kind::kMismatched)
    return fmt::format("mismatched collectives: {} {} in {}, and {} in {} of {}", others,
                       apart.others.members.size() == 1 ? "is" : "are",
                       task_text(apart.others.task), most, task_text(apart.most.task),
                       communicator);
  return fmt::format("{} came no further than {} in {}, while {} {} in {}", others,
                     task_text(apart.others.task), communicator, most,
                     apart.most.members.size() == 1 ? "is" : "are", task_text(apart.most.task));
}

std::string sink_text(const Report& report, const Sink& sink) {
  const auto names = who(report.picture, sink.members);
  const auto lacking = [&] {
    return lacks_neighbours(report.picture, report.missing, sink.members.front());
  };
  const auto of_its_node = [&](const std::string& what) {
    return fmt::format(
        "others wait since {} for a node of which not all logs are here, or whole; it is {}, where "
        "{}: that one is late, or one beside it is, or waits itself",
        time_text(sink.since), report.picture.host_of(sink.members.front()).name, what);
  };
  switch (sink.kind) {
    case Sink::Kind::kBehind:
      if (lacking()) return of_its_node(apart_text(report, report.waits.apart[*sink.apart]));
      [[fallthrough]];
    case Sink::Kind::kMismatched:
      return apart_text(report, report.waits.apart[*sink.apart]);
    case Sink::Kind::kIdle:
      if (lacking() && share_a_host(report.picture, sink.members))
        return of_its_node(fmt::format("{} {} asked the network for nothing", names,
                                       sink.members.size() == 1 ? "has" : "have"));
      if (sink.members.size() > 1 && !sink.apart)
        return fmt::format(
            "a process of {} is late since {}; {} have asked the network for nothing, and what "
            "they wait for in each other is not seen here",
            one_of_hosts(report.picture, sink.members), time_text(sink.since), names);
      return fmt::format("{} {} asked the network for nothing since {}{}{}{}", names,
                         sink.members.size() == 1 ? "has" : "have", time_text(sink.since),
                         is_behind(report, sink), went_then(report, sink),
                         sink.unasked ? kGivenUp : "");
    case Sink::Kind::kStopped:
      if (report.picture.members[sink.members.front()].ending == report::Ending::kDied)
        return fmt::format(
            "{} shows no sign of life since {}, and its TCP connections stayed open: it was "
            "stopped, "
            "or its node hung or went down",
            names, time_text(sink.since));
      return fmt::format("{} does not run since {}: stopped, or its node hangs", names,
                         time_text(sink.since));
    case Sink::Kind::kDied:
      return fmt::format("{} died at {}", names, time_text(sink.since));
    case Sink::Kind::kLeft:
      return fmt::format("{} had ended by itself at {}", names, time_text(sink.since));
    case Sink::Kind::kSilent: {
      if (sink.members.size() > 1)
        return fmt::format(
            "a process of {} is late, or waits for another one there; {} say nothing of a wait",
            one_of_hosts(report.picture, sink.members), names);
      const auto& summary = report.picture.members[sink.members.front()].log->summary;
      if (summary && summary->pending == 0)
        return fmt::format(
            "{} had nothing under way, and asked the network for nothing more until it ended by "
            "itself at {}",
            names, time_text(sink.since));
      return fmt::format("{} says nothing of a wait; its last sign of life is of {}", names,
                         time_text(sink.since));
    }
    case Sink::Kind::kNoLog:
      return fmt::format("{} at {} has no log here",
                         sink.rank ? fmt::format("rank {}", *sink.rank) : "the process",
                         without_mapping(sink.address));
    case Sink::Kind::kNotCome:
      return fmt::format("{} {} not come to the communicator that others make since {}", names,
                         sink.members.size() == 1 ? "has" : "have", time_text(sink.since));
    case Sink::Kind::kNetwork:
      return fmt::format("{} waits for the network itself", names);
    case Sink::Kind::kCycle:
      if (const auto inside = inside_text(report, sink); !inside.empty())
        return fmt::format("{} wait for each other: {}", names, inside);
      return fmt::format("{} wait for each other{}", names,
                         only_for_data(report, sink)
                             ? "'s data and send none, as where they are in different collectives, "
                               "or their GPUs don't run"
                             : "");
  }
  return {};
}

}  // namespace nnd::cli

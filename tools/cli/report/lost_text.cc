#include "cli/report/lost_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cli/common/number_list.h"
#include "cli/common/time_text.h"
#include "cli/report/difference_text.h"
#include "cli/report/names.h"
#include "cli/report/verdict.h"

namespace nnd::cli {

using report::Picture;
using report::Report;

namespace {

std::vector<std::size_t> members_of(const std::vector<report::Loss>& losses) {
  std::vector<std::size_t> out;
  for (const auto& loss : losses) out.push_back(loss.member);
  return out;
}

bool whole_hosts(const Picture& picture, const std::vector<std::size_t>& members,
                 std::vector<std::string>& names) {
  const std::set<std::size_t> lost(members.begin(), members.end());
  std::size_t covered = 0;
  for (const auto& host : picture.hosts)
    if (std::all_of(host.members.begin(), host.members.end(),
                    [&](std::size_t member) { return lost.contains(member); })) {
      names.push_back(host.name);
      covered += host.members.size();
    }
  return covered == lost.size() && covered > names.size();
}

// And nothing of theirs failed towards it.
bool others_lived_on(const Report& report, const report::Loss& loss) {
  constexpr report::Ns kLong = 5'000'000'000;
  const auto& all = report.picture.members;
  return !report.ends[loss.member].failed_towards &&
         std::any_of(all.begin(), all.end(),
                     [&](const auto& one) { return one.last > loss.at + kLong; });
}

// " with exit status 1", of all that ended by themselves.
std::string status_text(const Report& report) {
  std::set<int> all;
  bool asked = true;
  for (const auto& loss : report.first.losses) {
    const auto& one = report.picture.members[loss.member];
    all.insert(one.log->summary->exit_status.value_or(-1));
    asked = asked && report::was_ended(one);
  }
  if (all.size() != 1 || all.contains(-1)) return {};
  return fmt::format(
      " with exit status {}{}", *all.begin(),
      asked ? " (its program handles SIGTERM, so that it may have been asked to)" : "");
}

// "ranks 2-3", of processes whose host is named beside it; their number where a rank isn't known.
std::string ranks_text(const Picture& picture, const std::vector<std::size_t>& members) {
  std::set<int> ranks;
  for (const auto member : members)
    if (picture.members[member].rank) ranks.insert(*picture.members[member].rank);
  return ranks.size() == members.size() ? rank_list(ranks)
                                        : count_of(members.size(), "process", "processes");
}

// "WC-12 of mlx5_1 of node2 (rank 2) and 1 more failed towards node1, and ": by what followed.
std::string failed_towards(const Report& report, const std::vector<std::size_t>& lost) {
  const report::Failure* first = nullptr;
  std::size_t all = 0;
  for (const auto& failure : report.first.followed) {
    if (!failure.peer || std::find(lost.begin(), lost.end(), *failure.peer) == lost.end()) continue;
    if (all++ == 0) first = &failure;
  }
  if (first == nullptr) return {};
  return fmt::format("{} ({}){} failed towards {} with {}, and ", place_text(first->here),
                     ranks_text(report.picture, {first->member}),
                     all > 1 ? fmt::format(" and {} more", all - 1) : "",
                     report.picture.host_of(*first->peer).name, first->told->cause);
}

// Nobody is named: whoever was first may be another one.
std::string verdict_of_unproven(const Report& report, const std::vector<std::size_t>& lost) {
  const auto ended =
      fmt::format("{} ended at {} or soon after", count_of(lost.size(), "process", "processes"),
                  time_text(report.first.at));
  const auto missing = report.missing.any()
                           ? fmt::format("; {} of {} left no log here",
                                         missing_text(report.missing), *report.missing.expected)
                           : "";
  // What isn't answered is the process that died, or the network to it.
  if (std::all_of(lost.begin(), lost.end(),
                  [&](std::size_t member) { return !report.ends[member].sure; }))
    return fmt::format(
        "{}the {} of {} just {} at {}: {} died, or the network between {} and those that failed "
        "does not deliver{}.",
        failed_towards(report, lost), lost.size() == 1 ? "log" : "logs", who(report.picture, lost),
        lost.size() == 1 ? "ends" : "end", time_text(report.first.at),
        lost.size() == 1 ? "its process" : "their processes", lost.size() == 1 ? "it" : "them",
        missing);
  for (const auto member : lost)
    if (const auto before = report.ends[member].failed_before) {
      const auto& failure = report.failures[*before];
      return fmt::format(
          "{} died at {} and {} told of {} at {}, by clocks that nothing compares: either may have "
          "come first{}.",
          who(report.picture, lost), time_text(report.first.at),
          who(report.picture, {failure.member}), cause_text(failure.told->cause),
          clock_text(failure.at), missing);
    }
  const auto waited = static_cast<std::size_t>(std::count_if(
      lost.begin(), lost.end(), [&](std::size_t member) { return report.ends[member].waited; }));
  if (waited != 0)
    return fmt::format(
        "{}, {} waited with requests under way, and nothing shows for whom, or whether for the "
        "network{}; {}.",
        ended, lost.size() == 1 ? "which had" : fmt::format("of which {} had", waited), missing,
        who(report.picture, lost));
  return fmt::format(
      "{}, and which of the job's first can't be told{}; nothing had failed before in {}.", ended,
      missing, who(report.picture, lost));
}

// " of node1", where all are of one.
std::string of_one_host(const Picture& picture, const std::vector<std::size_t>& members) {
  return share_a_host(picture, members) ? " of " + picture.host_of(members.front()).name
                                        : std::string();
}

std::string how_it_mattered(const Report& report, const std::vector<std::size_t>& lost) {
  if (std::any_of(lost.begin(), lost.end(), [&](auto one) { return report.ends[one].needed; }))
    return fmt::format(", while others still waited for {}", lost.size() == 1 ? "it" : "them");
  if (lost.size() > 1 && lost.size() == report.picture.members.size())
    return " at one moment: of something that they have in common";
  return ", before the others";
}

}  // namespace

std::string lost_text(const Report& report) {
  const auto& losses = report.first.losses;
  if (report.difference)
    return fmt::format(
        "{}: {}{}{}, and no path between these was used.",
        difference_text(report, *report.difference),
        report.difference->cause.empty() ? "" : cause_text(report.difference->cause) + "; ",
        job_text(report.picture),
        report.stuck_making
            ? " come to no communicator"
            : fmt::format(" ended by {} with no word of why", time_text(report.picture.last)));
  const auto lost = members_of(losses);
  if (report.blame == report::Blame::kOpen) return verdict_of_unproven(report, lost);
  std::vector<std::string> hosts;
  const bool nodes = !losses[0].clean && whole_hosts(report.picture, lost, hosts);
  const std::string names = nodes ? list(hosts) : who(report.picture, lost);
  if (losses[0].clean && report.ends[lost[0]].failed)
    return fmt::format("not the network: {} ended at {}{}, with nothing failed before.", names,
                       time_text(report.first.at), status_text(report));
  if (losses[0].clean)
    return fmt::format("not the network: {} ended by {} at {}{}{}.", names,
                       lost.size() == 1 ? "itself" : "themselves", time_text(report.first.at),
                       status_text(report), how_it_mattered(report, lost));
  if (report.ends[lost[0]].closed_for && lost.size() == 1)
    return report.ends[lost[0]].died_then
               ? fmt::format(
                     "not the network: {} died at {}: its connections to other ranks were "
                     "closed, and it had closed none itself; nothing had failed before.",
                     names, time_text(report.first.at))
               : fmt::format(
                     "not the network: {} closed its connections to other ranks at {}: it "
                     "ended, or its communicator was aborted.",
                     names, time_text(report.first.at));
  // A process that is stopped leaves the same, until it is ended; but a dead one's peers fail.
  const bool died = report.picture.members[lost[0]].ending == report::Ending::kDied;
  if (died && others_lived_on(report, losses[0]) && nodes && hosts.size() == 1 && lost.size() > 1)
    return fmt::format(
        "not the network: {} with all its processes ({}) shows no sign of life since {}: the node "
        "hung or died, they were stopped, or one of them died and a launcher ended the rest; "
        "nothing had failed before.",
        names, ranks_text(report.picture, lost), time_text(report.first.at));
  if (died && others_lived_on(report, losses[0]))
    return fmt::format(
        "not the network: {} {} no sign of life since {}: {}, or died then; nothing had failed "
        "before.",
        names, lost.size() == 1 ? "shows" : "show", time_text(report.first.at),
        lost.size() == 1 ? "it was stopped or its node hung"
                         : "they were stopped or their nodes hung");
  if (lost.size() > 1 && !nodes)
    return fmt::format(
        "not the network: {}{} died at {}, and which of them first can't be told; {}; nothing had "
        "failed before.",
        count_of(lost.size(), "process", "processes"), of_one_host(report.picture, lost),
        time_text(report.first.at), names);
  if (nodes && hosts.size() == 1)
    return fmt::format(
        "not the network: {} with all its processes ({}) died at {}, with nothing failed before: "
        "the node did, or one of them and a launcher ended the rest.",
        names, ranks_text(report.picture, lost), time_text(report.first.at));
  return fmt::format("not the network: {} died at {}{}, with nothing failed before.", names,
                     time_text(report.first.at), died ? "" : " or later (its log just ends)");
}

}  // namespace nnd::cli

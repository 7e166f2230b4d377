#include "cli/report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "cli/common/number_list.h"
#include "nccl_net_diag/causes.h"
#include "report/address_plan.h"

namespace nnd::cli {

using report::Culprit;
using report::Ns;
using report::Picture;

namespace {

constexpr std::size_t kMostNames = 4;

std::string title_of(const std::string& cause) {
  const auto known = nccl_net_diag::find_cause(cause);
  if (!known) return {};
  return std::string(nccl_net_diag::cause_entry(*known).title);
}

}  // namespace

std::string seconds(Ns ns) {
  const double sec = static_cast<double>(ns) / 1e9;
  return fmt::format("{:.{}f} s", sec, sec < 10 ? 1 : 0);
}

std::string bytes_text(double bytes) {
  const bool small = bytes < 1e12;
  const double value = bytes / (small ? 1e9 : 1e12);
  return fmt::format("{:.{}f} {}", value,
                     value < 10    ? 2
                     : value < 100 ? 1
                                   : 0,
                     small ? "GB" : "TB");
}

std::string count_of(std::size_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string shortened(std::string text) {
  constexpr std::size_t kLongestSentence = 320;
  if (text.size() <= kLongestSentence) return text;
  auto end = text.rfind(' ', kLongestSentence);
  if (end == std::string::npos) end = kLongestSentence;
  return text.substr(0, end) + " ...";
}

std::string list(const std::vector<std::string>& names) {
  const std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  const std::string more =
      names.size() > kMostNames ? fmt::format(" and {} more", names.size() - kMostNames) : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

std::string cause_text(const std::string& cause) {
  auto title = title_of(cause);
  if (title.empty()) return cause.empty() ? "a failure without a name" : cause;
  const bool word = title.size() > 1 && (title[1] == ' ' || (title[1] >= 'a' && title[1] <= 'z'));
  if (word && title[0] >= 'A' && title[0] <= 'Z')
    title[0] = static_cast<char>(title[0] + 'a' - 'A');
  return fmt::format("{}, {}", cause, title);
}

std::string clock_text(Ns at) {
  const Ns ms = at / 1'000'000;
  const std::chrono::hh_mm_ss time(std::chrono::milliseconds(ms % (Ns{24} * 3600 * 1000)));
  return fmt::format("{:02}:{:02}:{:02}.{:03}", time.hours().count(), time.minutes().count(),
                     time.seconds().count(), time.subseconds().count());
}

std::string who(const Picture& picture, const std::vector<std::size_t>& members) {
  std::set<int> ranks;
  std::set<std::string> hosts;
  for (const auto member : members) {
    if (picture.members[member].rank) ranks.insert(*picture.members[member].rank);
    hosts.insert(picture.members[member].log->host);
  }
  if (members.size() > 1 && members.size() == picture.members.size())
    return fmt::format("all {} processes", members.size());
  if (hosts.size() > kMostNames)
    return fmt::format("{} on {} hosts", count_of(members.size(), "process", "processes"),
                       hosts.size());
  if (ranks.size() == members.size())
    return fmt::format("{} ({})", rank_list(ranks), fmt::join(hosts, ", "));
  if (members.size() == 1)
    return fmt::format("{} pid {}", *hosts.begin(), picture.members[members[0]].log->pid);
  return fmt::format("{} on {}", count_of(members.size(), "process", "processes"),
                     fmt::join(hosts, ", "));
}

std::string place_text(const report::Place& place) {
  if (place.dev.empty()) return place.host.empty() ? place.subnet : place.host;
  const auto dev = place.port == 0 ? place.dev : fmt::format("{}:{}", place.dev, place.port);
  return place.host.empty() ? dev : fmt::format("{} of {}", dev, place.host);
}

std::string culprit_text(const Culprit& culprit) {
  switch (culprit.kind) {
    case Culprit::Kind::kHca:
    case Culprit::Kind::kPort:
      return place_text(culprit.place);
    case Culprit::Kind::kHost:
      return culprit.place.host;
    case Culprit::Kind::kPair:
      return fmt::format(
          "{} {} and {}",
          culprit.place.subnet == culprit.other.subnet && report::is_cable(culprit.place.subnet)
              ? "the cable between"
              : "between",
          place_text(culprit.place), place_text(culprit.other));
    case Culprit::Kind::kRail:
      return fmt::format("the rail of {}", culprit.place.dev);
    case Culprit::Kind::kSubnet:
      return fmt::format("subnet {}", culprit.place.subnet);
    case Culprit::Kind::kPlane:
      return fmt::format("what carries {} ({} of {} subnets)", culprit.place.subnet,
                         culprit.subnets, culprit.all_subnets);
    case Culprit::Kind::kBetween:
      return fmt::format("between the subnets {} and {}", culprit.place.subnet,
                         culprit.other.subnet);
    case Culprit::Kind::kAll:
      return "everywhere";
  }
  return {};
}

}  // namespace nnd::cli

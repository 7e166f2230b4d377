#include "cli/report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  static constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  const int digits = unit == 0 || bytes >= 100 ? 0 : bytes < 10 ? 2 : 1;
  return fmt::format("{:.{}f} {}", bytes, digits, kUnits[unit]);
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
  // A proper name keeps its capitals.
  const auto is_capital = [](char one) { return one >= 'A' && one <= 'Z'; };
  const std::string word = title.substr(0, title.find_first_of(" '"));
  if (std::count_if(word.begin(), word.end(), is_capital) == 1 && is_capital(word[0]) &&
      word.back() != '_')
    title[0] = static_cast<char>(title[0] + 'a' - 'A');
  return fmt::format("{}, {}", cause, title);
}

bool share_a_host(const Picture& picture, const std::vector<std::size_t>& members) {
  return std::all_of(members.begin(), members.end(), [&](std::size_t member) {
    return picture.members[member].host == picture.members[members.front()].host;
  });
}

std::string who(const Picture& picture, const std::vector<std::size_t>& members) {
  std::set<int> ranks;
  std::set<std::string> hosts;
  for (const auto member : members) {
    if (picture.members[member].rank) ranks.insert(*picture.members[member].rank);
    hosts.insert(picture.members[member].log->host);
  }
  if (members.size() > 2 && members.size() == picture.members.size())
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

std::string job_text(const Picture& picture) {
  return fmt::format("{} on {}", count_of(picture.members.size(), "process", "processes"),
                     count_of(picture.hosts.size(), "host", "hosts"));
}

std::string communicator_text(const Picture& picture, const std::string& comm) {
  std::string name;
  bool torch = false;
  for (const auto& member : picture.members) {
    torch = torch || member.log->launch.launcher == "torchrun";
    const auto found = member.log->communicators.find(comm);
    if (name.empty() && found != member.log->communicators.end()) name = found->second.name;
  }
  if (name.empty()) return fmt::format("communicator {}", comm);
  // PyTorch's process groups give their names to NCCL.
  return torch ? fmt::format("process group \"{}\" (communicator {})", name, comm)
               : fmt::format("communicator \"{}\" ({})", name, comm);
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
      return culprit.other.host.empty()
                 ? culprit.place.host
                 : fmt::format("{} or {} (all that failed is between the two)", culprit.place.host,
                               culprit.other.host);
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

#include "verdict/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>

namespace nnd::verdict {

namespace {

struct Named {
  std::set<int> ranks, nodes;  // the first that are named, and the hosts of all
  std::set<std::string> hcas;
  std::vector<std::set<int>> sides;  // all ranks, as they are named together
};

std::set<int> numbers(const std::string& list) {
  std::set<int> out;
  static const std::regex one(R"((\d+)(?:-(\d+))?)");
  for (std::sregex_iterator at(list.begin(), list.end(), one), end; at != end; ++at) {
    const int from = std::stoi((*at)[1]), to = (*at)[2].matched ? std::stoi((*at)[2]) : from;
    for (int i = from; i <= to; ++i) out.insert(i);
  }
  return out;
}

// What the sentence says first is whom it accuses; the rest is what followed.
std::string accusing_part(const std::string& line) { return line.substr(0, line.find(';')); }

std::size_t find_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end])))
      return at;
  }
  return std::string::npos;
}

Named named_in(const std::string& text, const Case& one) {
  Named out;
  static const std::regex ranks(R"(\branks? (\d+(?:(?:-|,|, | and )\d+)*))"),
      hca(R"(\bmlx5_(?:bond_)?\d+)");
  for (std::sregex_iterator at(text.begin(), text.end(), ranks), end; at != end; ++at) {
    const std::set<int> some = numbers((*at)[1]);
    if (out.ranks.empty()) out.ranks = some;
    out.sides.push_back(some);
  }
  for (int node = 0; node < one.nodes; ++node)
    if (find_word(text, one.fabric.hosts[static_cast<std::size_t>(node)]) != std::string::npos)
      out.nodes.insert(node);
  for (std::sregex_iterator at(text.begin(), text.end(), hca), end; at != end; ++at)
    out.hcas.insert(at->str());
  return out;
}

// Where a node's log is not there, its address is all that names it.
bool names_address_of_guilty(const Played& played, const Case& one) {
  const std::string accused = accusing_part(played.line);
  for (const int node : one.truth.nodes)
    for (int hca = 0; hca < one.fabric.hcas; ++hca) {
      const std::string address = one.fabric.address_in_effect(node, hca);
      if (find_word(accused, address.substr(0, address.find('/'))) != std::string::npos)
        return true;
    }
  return false;
}

bool within(const std::set<int>& some, const std::set<int>& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

enum class Naming { kRight, kNone, kPair, kOther };

// A rank is guilty.
Naming naming_of_rank(const Named& named, const Case& one) {
  const Truth& truth = one.truth;
  if (truth.both_named && std::any_of(named.sides.begin(), named.sides.end(),
                                      [&](const auto& side) { return within(side, truth.ranks); }))
    return Naming::kRight;
  if (!named.ranks.empty())
    return within(named.ranks, truth.ranks) ? Naming::kRight : Naming::kOther;
  if (named.nodes.empty()) return Naming::kNone;
  if (!within(named.nodes, truth.nodes))  // or one of several, and which is said to be open
    return within(truth.nodes, named.nodes) ? Naming::kPair : Naming::kOther;
  return one.gpus == 1 ? Naming::kRight : Naming::kPair;
}

// A node, or a part of it.
Naming naming_of_node(const Named& named, const Case& one) {
  const Truth& truth = one.truth;
  const bool hca = truth.hcas.empty() ||
                   std::any_of(truth.hcas.begin(), truth.hcas.end(),
                               [&](const auto& name) { return named.hcas.contains(name); });
  if (static_cast<int>(truth.nodes.size()) == one.nodes)  // all alike
    return hca ? Naming::kRight : Naming::kNone;
  std::set<int> nodes = named.nodes;
  for (const int rank : named.ranks)
    if (rank < one.ranks()) nodes.insert(one.node_of(rank));
  if (nodes.empty()) return Naming::kNone;
  const bool has =
      std::any_of(nodes.begin(), nodes.end(), [&](int node) { return truth.nodes.contains(node); });
  if (!has) return one.nodes < truth.tells_from_nodes ? Naming::kPair : Naming::kOther;
  if (!hca) return Naming::kPair;
  if (within(nodes, truth.nodes) || one.nodes < truth.tells_from_nodes) return Naming::kRight;
  return Naming::kPair;
}

bool tells(const std::string& line, const std::vector<std::string>& words) {
  return words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
           return line.find(word) != std::string::npos;
         });
}

// What it was, as it then went.
bool tells_story(const Truth& truth, const Played& played) {
  if (tells(played.line, truth.says)) return true;
  const bool done = std::any_of(truth.ranks.begin(), truth.ranks.end(),
                                [&](int rank) { return played.done.contains(rank); });
  const auto& more = done ? truth.says_if_done : truth.says_if_not;
  return !more.empty() && tells(played.line, more);
}

bool guilty_log_is_there(const Case& one, const Played& played) {
  for (const int rank : played.collection.ranks)
    if (one.truth.ranks.empty() ? one.truth.nodes.contains(one.node_of(rank))
                                : one.truth.ranks.contains(rank))
      return true;
  return false;
}

// One pair alone failed, and both of its ends are named: nothing tells them apart. The same of two
// nodes.
bool is_tie(const Played& played, const Truth& truth) {
  const auto culprits =
      played.report.is_object() ? played.report.find("culprits") : played.report.end();
  if (culprits == played.report.end() || culprits->size() != 1) return false;
  const auto& one = culprits->front();
  if (one.value("kind", "") == "host" && truth.hcas.empty())
    return played.line.find("(all that failed is between the two)") != std::string::npos;
  return one.value("kind", "") == "pair" && one.value("failing", 0) == 1 &&
         one.value("working", 0) == 0;
}

// Who left no log may have left one that was not collected.
bool are_guilty_or_not_collected(const Named& named, const Case& one, const Played& played) {
  return within(one.truth.ranks, named.ranks) &&
         std::none_of(named.ranks.begin(), named.ranks.end(), [&](int rank) {
           return !one.truth.ranks.contains(rank) && played.collection.ranks.contains(rank);
         });
}

Judgement judge_healthy(const Played& played) {
  if (played.exit_code != 0) return {Class::kAlarm, fmt::format("exit code {}", played.exit_code)};
  if (!played.alarms.empty()) return {Class::kAlarm, played.alarms.front()};
  return {Class::kRight, ""};
}

// The fault did no harm: the job ran to its end.
Judgement judge_harmless(const Played& played, Naming naming) {
  if (played.exit_code == 0 || naming == Naming::kRight) return {Class::kRight, "no harm done"};
  if (naming == Naming::kOther) return {Class::kWrong, "somebody else is named"};
  return {Class::kVague, "no harm done"};
}

}  // namespace

std::string name_of(Class judged) {
  switch (judged) {
    case Class::kRight:
      return "right";
    case Class::kHonest:
      return "not known";
    case Class::kVague:
      return "vague";
    case Class::kWrong:
      return "wrong";
    case Class::kAccused:
      return "accused";
    case Class::kAcquitted:
      return "acquitted";
    case Class::kMissed:
      return "missed";
    case Class::kAlarm:
      return "alarm";
    case Class::kNoJob:
      return "no job";
  }
  return {};
}

Judgement judge(const Case& one, const Played& played) {
  const Truth& truth = one.truth;
  if (!played.trouble.empty()) return {Class::kNoJob, played.trouble};
  if (truth.healthy) return judge_healthy(played);
  const Named named = named_in(accusing_part(played.line), one);
  const Naming naming =
      truth.ranks.empty() ? naming_of_node(named, one) : naming_of_rank(named, one);
  const bool met = one.fabric.faults.empty() || played.fault_met;
  if ((truth.may_be_harmless && played.ran) || !met) return judge_harmless(played, naming);

  const bool reduced = !played.collection.complete() || played.collection.ranks.empty();
  const Class unknown = reduced ? Class::kHonest : Class::kVague;
  if (played.exit_code == 3 && played.collection.ranks.empty())
    return {Class::kHonest, "there is no log"};
  const std::string blame = played.report.is_object() ? played.report.value("blame", "") : "";
  const bool acquits = played.line.find("not the network") != std::string::npos;
  if (acquits != (blame == "not the network"))
    return {Class::kWrong, "the sentence and \"blame\" differ: " + blame};
  if (truth.network == Network::kInnocent && blame == "network")
    return {Class::kAccused, reduced ? "evidence is missing" : ""};
  if (truth.network == Network::kGuilty && acquits)
    return {guilty_log_is_there(one, played) ? Class::kAcquitted : Class::kWrong, ""};
  // mpirun ends the others within 0.15 s of a death that left no word: none is the first then.
  const bool at_once = truth.silent && one.ending == Ending::kMpirun;
  if (played.exit_code == 0 && at_once &&
      played.line.find("one of them died and its launcher ended the others") != std::string::npos)
    return {Class::kHonest, "all ended at once"};
  if (played.exit_code == 0) {
    // Who never had a log is missed by whoever has one and knows how many there are.
    const bool could_tell =
        truth.no_log ? played.collection.whole : guilty_log_is_there(one, played);
    const bool says_fine = played.line.starts_with("fine") || played.line.starts_with("works");
    return {reduced && !(could_tell && says_fine) ? Class::kHonest : Class::kMissed, ""};
  }
  if (played.exit_code != 1) return {unknown, fmt::format("exit code {}", played.exit_code)};
  const bool no_log = truth.no_log || (!truth.ranks.empty() && !guilty_log_is_there(one, played) &&
                                       played.line.find("left no log") != std::string::npos);
  if (naming == Naming::kOther && no_log && are_guilty_or_not_collected(named, one, played))
    return {Class::kHonest, "with those whose logs were not collected"};
  if (naming == Naming::kOther && truth.ranks.empty() && names_address_of_guilty(played, one))
    return {unknown, "the guilty by its address alone, beside another"};
  if (naming == Naming::kOther) return {Class::kWrong, "somebody else is named"};
  if (naming == Naming::kNone && at_once) return {Class::kHonest, "all ended at once"};
  if (naming == Naming::kNone && truth.untold && tells_story(truth, played))
    return {Class::kHonest, "this release does not tell who"};
  if (naming == Naming::kNone) return {unknown, "nobody is named"};
  if (naming == Naming::kPair && truth.ranks.empty() && is_tie(played, truth))
    return {Class::kHonest, "a tie, said as one"};
  if (naming == Naming::kPair) return {unknown, "not told from others"};
  if (!tells_story(truth, played)) return {unknown, "another story"};
  return {Class::kRight, ""};
}

}  // namespace nnd::verdict

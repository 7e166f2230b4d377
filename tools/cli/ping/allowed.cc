#include "cli/ping/allowed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace nnd::cli {

namespace {

constexpr double kHalf = 0.5, kNear = 0.75;
constexpr const char* kBothPorts = "both ports";

std::string name_in_words(const PairEnd& end) {
  return fmt::format("{}'s {}", end.host, end.port_name());
}

// GB/s: of the best size, the slower direction.
double got(const PairResult& pair) {
  double out = 0;
  for (const Bandwidth& row : pair.bandwidth) out = std::max(out, row.slower());
  return out;
}

bool measured(const PairResult& pair) {
  return pair.reachable() && pair.allowed && !pair.bandwidth.empty();
}

double share(const PairResult& pair) { return got(pair) / pair.allowed->gb_per_s; }

bool alike(const PairResult& one, const PairResult& other) {
  constexpr double kSame = 0.01;
  return std::abs(one.allowed->gb_per_s - other.allowed->gb_per_s) <= kSame * one.allowed->gb_per_s;
}

// The fastest of those that allow as much.
const PairResult& best_like(const PairResult& pair, const std::vector<PairResult>& pairs) {
  const PairResult* out = &pair;
  for (const PairResult& other : pairs)
    if (measured(other) && alike(pair, other) && got(other) > got(*out)) out = &other;
  return *out;
}

using Slow = std::vector<const PairResult*>;

// The end that is slow with each of several peers, where the other end isn't.
const PairEnd* culprit(const PairResult& pair, const std::vector<PairResult>& pairs,
                       const Slow& slow) {
  const auto always = [&](const PairEnd& end) {
    int seen = 0;
    for (const PairResult& one : pairs) {
      if (!measured(one)) continue;
      const std::string own = name_in_words(end);
      if (name_in_words(one.from) != own && name_in_words(one.to) != own) continue;
      if (std::find(slow.begin(), slow.end(), &one) == slow.end()) return false;
      ++seen;
    }
    return seen > 1;
  };
  const bool from = always(pair.from), to = always(pair.to);
  return from == to ? nullptr : from ? &pair.from : &pair.to;
}

std::string both(const PairResult& pair) {
  return fmt::format("{} and {}", name_in_words(pair.from), name_in_words(pair.to));
}

}  // namespace

std::string rough(double gb_per_s) { return fmt::format("{:.3g}", gb_per_s); }

bool faster(const PairResult& one, const PairResult& other) {
  return one.reachable() && other.reachable() && got(one) > got(other);
}

std::optional<Allowed> allowed_between(const HostDescription& from, const std::string& from_port,
                                       const HostDescription& to, const std::string& to_port) {
  const PortDescription* const one = from.find(from_port);
  const PortDescription* const other = to.find(to_port);
  if (one == nullptr || other == nullptr || one->speed_mbps <= 0 || other->speed_mbps <= 0)
    return std::nullopt;
  const double mbps = static_cast<double>(std::min(one->speed_mbps, other->speed_mbps));
  Allowed out{mbps / 8000, kBothPorts, false};
  if (one->speed_mbps != other->speed_mbps)
    out.by = one->speed_mbps < other->speed_mbps ? fmt::format("{}'s {}", from.host, from_port)
                                                 : fmt::format("{}'s {}", to.host, to_port);
  for (const auto& [host, port] : {std::pair(&from, one), {&to, other}})
    if (port->slot_gbit && *port->slot_gbit > 0 && *port->slot_gbit / 8 < out.gb_per_s)
      out = {*port->slot_gbit / 8, fmt::format("the PCIe link of {}'s {}", host->host, port->hca),
             true};
  return out;
}

std::vector<std::size_t> slow_pairs(const std::vector<PairResult>& pairs) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (measured(pairs[i]) && share(pairs[i]) <= kHalf &&
        share(best_like(pairs[i], pairs)) >= kNear)
      out.push_back(i);
  return out;
}

std::vector<std::string> slow_sentences(const std::vector<PairResult>& pairs) {
  Slow slow;
  for (const std::size_t i : slow_pairs(pairs)) slow.push_back(&pairs[i]);
  std::map<std::string, std::size_t> by_end;  // how many pairs
  for (const PairResult* pair : slow)
    if (const PairEnd* end = culprit(*pair, pairs, slow)) ++by_end[name_in_words(*end)];
  std::set<std::string> told;
  std::vector<std::string> out;
  for (const PairResult* pair : slow) {
    const PairEnd* const end = culprit(*pair, pairs, slow);
    if (end != nullptr && !told.insert(name_in_words(*end)).second) continue;
    const PairResult& best = best_like(*pair, pairs);
    std::string text;
    if (end != nullptr)
      text = fmt::format("{} is slow with each of its {} peers: ", name_in_words(*end),
                         by_end[name_in_words(*end)]);
    text += fmt::format("{} get {} of the {} GB/s that {} allow{}, where {} get {}. ", both(*pair),
                        rough(got(*pair)), rough(pair->allowed->gb_per_s), pair->allowed->by,
                        pair->allowed->by == kBothPorts ? "" : "s", both(best), rough(got(best)));
    text += end == nullptr
                ? "Compare the links and the counters of both ports, and the switch ports between "
                  "them."
                : "Compare its link, its counters and its switch port with its siblings'.";
    out.push_back(std::move(text));
  }
  return out;
}

std::vector<std::string> bound_notes(const std::vector<PairResult>& pairs) {
  std::vector<std::string> out;
  const PairResult* best = nullptr;
  for (const PairResult& pair : pairs) {
    if (!measured(pair)) continue;
    if (best == nullptr || share(pair) > share(*best)) best = &pair;
    if (!pair.allowed->slot) continue;
    std::string text =
        fmt::format("Less than the ports carry: {} allows {} GB/s to all that goes through it.",
                    pair.allowed->by, rough(pair.allowed->gb_per_s));
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
  }
  if (best != nullptr && share(*best) <= kHalf)
    out.push_back(fmt::format(
        "No pair comes near what it allows: the best gets {} of {} GB/s. Messages go from host "
        "memory through one set of QPs, so this is what memory and CPU of the hosts do, and tells "
        "of no link.",
        rough(got(*best)), rough(best->allowed->gb_per_s)));
  return out;
}

}  // namespace nnd::cli

#include "report/model.h"

#include <algorithm>
#include <array>

#include "nccl_net_diag/causes.h"
#include "report/relations.h"

namespace nnd::report {

namespace {

using Seen = Observation::Kind;

Observation made(Seen kind, std::size_t index, std::optional<std::size_t> member, Span when) {
  Observation out;
  out.kind = kind;
  out.index = index;
  out.member = member;
  out.when = when;
  return out;
}

void observe(Model& model, const Picture& picture) {
  for (std::size_t i = 0; i < model.failures.size(); ++i) {
    const Failure& failure = model.failures[i];
    if (failure.recovered) continue;
    model.observations.push_back(made(failure.warned ? Seen::kSign : Seen::kFailure, i,
                                      failure.member, {failure.at, failure.at}));
  }
  std::vector<bool> waits(picture.members.size());
  for (std::size_t i = 0; i < model.waits.waits.size(); ++i) {
    const Wait& wait = model.waits.waits[i];
    const Span when{wait.since, picture.members[wait.member].last};
    if (wait.blames_network()) {
      model.observations.push_back(made(Seen::kStuck, i, wait.member, when));
    } else if (!wait.is_for_nobody() && !waits[wait.member]) {
      waits[wait.member] = true;
      model.observations.push_back(made(Seen::kWait, i, wait.member, when));
    }
  }
  for (const auto member : model.making)
    model.observations.push_back(
        made(Seen::kMaking, member, member,
             {picture.members[member].first, picture.members[member].last}));
  for (std::size_t i = 0; i < model.ends.size(); ++i)
    if (const End& end = model.ends[i]; end.matters())
      model.observations.push_back(made(Seen::kEnd, i, i, end.when));
  if (model.missing.any())
    model.observations.push_back(
        made(Seen::kMissing, 0, std::nullopt, {picture.first, picture.first}));
}

std::vector<std::size_t> being_made(const Picture& picture) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    if (is_being_made(picture.members[i]) || picture.members[i].log->making) out.push_back(i);
  return out;
}

// What keeps hosts apart says more than that somebody waits; the root knows who has come.
std::optional<std::size_t> stuck_making(const Picture& picture,
                                        const std::vector<std::size_t>& making) {
  std::optional<std::size_t> out;
  const auto rank = [&](std::size_t member) {
    const auto& one = *picture.members[member].log->making;
    return std::pair(one.blocked(), one.step == "gather");
  };
  for (const auto member : making)
    if (picture.members[member].log->making && (!out || rank(member) > rank(*out))) out = member;
  return out;
}

}  // namespace

const char* name_of(Observation::Kind kind) {
  constexpr std::array<const char*, static_cast<std::size_t>(Seen::kCount)> kNames{
      "sign", "failure", "stuck", "wait", "being-made", "end", "sink", "missing"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Observation::How how) {
  constexpr std::array<const char*, static_cast<std::size_t>(Observation::How::kCount)> kNames{
      "root", "waits-for", "echoes", "ended-by", "follows-from", "same-as"};
  return kNames[static_cast<std::size_t>(how)];
}

std::size_t Model::root_of(std::size_t observation) const {
  while (observations[observation].by) observation = *observations[observation].by;
  return observation;
}

std::vector<std::size_t> Model::roots(Seen kind) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < observations.size(); ++i)
    if (observations[i].kind == kind && !observations[i].by) out.push_back(i);
  return out;
}

bool is_being_made(const Member& member) {
  const auto& process = *member.log;
  // The profiler's layer hears of a communicator when its ranks have met, and NCCL asks for the
  // first of its devices before that.
  const bool met = std::any_of(process.communicators.begin(), process.communicators.end(),
                               [](const auto& one) { return one.second.init_seq != 0; });
  return !met && process.loaded && !process.summary && process.net_devices.size() <= 1 &&
         process.connections.empty() && process.listens.empty();
}

Model model_of(const Picture& picture, std::optional<int> expected_ranks) {
  Model out;
  out.failures = failures_of(picture);
  out.waits = waits_of(picture);
  out.ends = ends_of(picture, out.failures, out.waits.waits);
  out.missing = missing_of(picture, expected_ranks);
  out.making = being_made(picture);
  out.stuck_making = stuck_making(picture, out.making);
  out.blocked = out.stuck_making && picture.members[*out.stuck_making].log->making->blocked();
  observe(out, picture);
  relate(out, picture);
  return out;
}

}  // namespace nnd::report

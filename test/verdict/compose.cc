#include "verdict/faults.h"

namespace nnd::verdict {

using softcuda::Action;
using softcuda::Collective;
using Kind = Action::Kind;

namespace {

Action draw_collective(Dice& dice, int least, int most) {
  const std::vector<Collective> all{Collective::kAllReduce, Collective::kAllReduce,
                                    Collective::kAllGather, Collective::kReduceScatter,
                                    Collective::kBroadcast};
  return {.kind = Kind::kCollective,
          .collective = dice.of(all),
          .bytes = static_cast<std::size_t>(dice.between(16, 400)) * 4096,
          .iterations = dice.between(least, most)};
}

// What a rank has told before it comes to the moment: it is loaded, has its communicator, ...
int events_before(Moment moment) {
  switch (moment) {
    case Moment::kBeforeInit:
      return 1;
    case Moment::kBeforeConnection:
      return 2;
    case Moment::kEarly:
    case Moment::kMidCollective:
      return 3;
    case Moment::kLate:
      return 4;
  }
  return 0;
}

}  // namespace

Program draw_program(Dice& dice) {
  return {draw_collective(dice, 1, 3), draw_collective(dice, 4, 12), draw_collective(dice, 2, 6)};
}

void compose(Case& one, const Program& program, int guilty, const std::vector<Action>& acts) {
  one.culprit_events = events_before(one.moment);
  if (guilty >= 0) one.culprit = guilty;
  bool guilty_acted = guilty < 0;
  const auto add = [&](const Action& action) {
    if (guilty < 0 || !guilty_acted) {
      one.actions.push_back(action);
      return;
    }
    for (int rank = 0; rank < one.ranks(); ++rank) {
      if (rank == guilty) continue;
      one.actions.push_back(action);
      one.actions.back().only_rank = rank;
    }
  };
  const auto at = [&](Moment moment) {
    if (guilty < 0 || one.moment != moment) return;
    const auto act = [&](Action action) {
      action.only_rank = guilty;
      one.actions.push_back(action);
    };
    if (moment == Moment::kMidCollective) {
      Action begun = program.body;
      begun.wait = false;
      act(begun);
      act({.kind = Kind::kCompute, .ms = 2});
    }
    for (const Action& action : acts) act(action);
    guilty_acted = true;
  };
  at(Moment::kBeforeInit);
  add({.kind = Kind::kCreate});
  at(Moment::kBeforeConnection);
  add(program.first);
  at(Moment::kEarly);
  at(Moment::kMidCollective);
  add(program.body);
  at(Moment::kLate);
  add(program.last);
  add({.kind = Kind::kDestroy});
}

}  // namespace nnd::verdict

#include "verdict/draw.h"

#include <fmt/format.h>

#include <stdexcept>
#include <tuple>

#include "verdict/dice.h"
#include "verdict/faults.h"

namespace nnd::verdict {

using softcuda::Action;
using softcuda::Collective;
using Kind = Action::Kind;

namespace {

void draw_shape(Case& one, Dice& dice) {
  using Shape = std::pair<int, int>;
  std::tie(one.nodes, one.gpus) = dice.of(std::vector<std::pair<Shape, int>>{{{2, 1}, 26},
                                                                             {{3, 1}, 14},
                                                                             {{4, 1}, 14},
                                                                             {{2, 2}, 18},
                                                                             {{3, 2}, 9},
                                                                             {{2, 4}, 6},
                                                                             {{4, 2}, 6},
                                                                             {{3, 4}, 3},
                                                                             {{2, 8}, 2},
                                                                             {{4, 4}, 2}});
  Fabric& fabric = one.fabric;
  const auto name =
      dice.of(std::vector<std::string>{"node{}", "gpu-a{:02}", "dgx-{:03}.pod1", "h{}r7"});
  const int first = dice.between(0, 60);
  for (int node = 0; node < one.nodes; ++node)
    fabric.hosts.push_back(fmt::format(fmt::runtime(name), first + node));
  fabric.gpus = one.gpus;
  fabric.hcas = one.gpus + dice.between(one.gpus == 1 ? 1 : 0, one.gpus > 4 ? 0 : 1);
  fabric.shift = dice.below(fabric.hcas);
  fabric.routed = dice.percent(50);
  fabric.net = dice.between(64, 220);
}

void draw_settings(Case& one, Dice& dice) {
  auto& set = one.environment;
  set = {{"NCCL_NET_PLUGIN", "diag"},
         {"NCCL_NET_PLUGIN_REF_COUNT", "1"},
         {"NCCL_DEBUG", "WARN"},
         {"NCCL_IB_MQP_RETRY_CNT", "1"},
         {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"}};
  // These pick no GID by themselves.
  if (one.nccl.starts_with("2.18.") || one.nccl.starts_with("2.19.") ||
      one.nccl.starts_with("2.20."))
    set["NCCL_IB_GID_INDEX"] = "3";
  if (dice.percent(50)) set["NCCL_PROFILER_PLUGIN"] = "libnccl-net-diag.so";
  one.heeds_sigterm = dice.percent(30);
}

void draw_clocks(Case& one, Dice& dice) {
  if (!dice.percent(20)) return;
  for (int node = 0; node < one.nodes; ++node)
    if (dice.percent(60)) one.clock_ms[node] = dice.between(-5000, 5000);
}

using Endings = std::vector<std::pair<Ending, int>>;

Ending draw_ending(const std::string& fault, bool of_network, Dice& dice) {
  if (fault == "SIGSTOP" || fault == "idle rank" || fault == "missing rank" ||
      fault == "mismatched")
    return dice.of(Endings{{Ending::kLive, 30},
                           {Ending::kWatchdog, 35},
                           {Ending::kCancelled, 20},
                           {Ending::kTimeLimit, 15}});
  if (of_network)
    return dice.of(Endings{{Ending::kLive, 15},
                           {Ending::kByItself, 30},
                           {Ending::kWatchdog, 15},
                           {Ending::kElastic, 15},
                           {Ending::kMpirun, 10},
                           {Ending::kCancelled, 15}});
  return dice.of(Endings{{Ending::kLive, 10},
                         {Ending::kByItself, 20},
                         {Ending::kWatchdog, 25},
                         {Ending::kElastic, 20},
                         {Ending::kMpirun, 15},
                         {Ending::kCancelled, 10}});
}

void plant(Case& one, const std::string& only, Dice& dice) {
  std::vector<std::pair<std::pair<const Fault*, bool>, int>> all;
  const auto of_program = program_faults(), of_network = network_faults();
  for (const Fault& fault : of_program) all.push_back({{&fault, false}, fault.weight});
  for (const Fault& fault : of_network) all.push_back({{&fault, true}, fault.weight});
  if (!only.empty())
    std::erase_if(all, [&](const auto& fault) { return fault.first.first->name != only; });
  if (all.empty()) throw std::runtime_error("no fault " + only);
  const auto [fault, network] = dice.of(all);
  one.fault = fault->name;
  one.environment["NCCL_NET_DIAG_STALL_SEC"] = "2";
  one.environment["NCCL_NET_DIAG_CONNECT_SEC"] = "2";
  one.moment = dice.of(std::vector<std::pair<Moment, int>>{{Moment::kBeforeInit, 15},
                                                           {Moment::kBeforeConnection, 15},
                                                           {Moment::kEarly, 20},
                                                           {Moment::kMidCollective, 25},
                                                           {Moment::kLate, 25}});
  one.ending = draw_ending(one.fault, network, dice);
  fault->plant(one, dice);
  one.collected = dice.of(std::vector<std::pair<Collected, int>>{{Collected::kAll, 60},
                                                                 {Collected::kNoBoxes, 8},
                                                                 {Collected::kHalf, 12},
                                                                 {Collected::kOneNode, 8},
                                                                 {Collected::kCutOff, 12}});
  one.restarted = one.ending != Ending::kLive && dice.percent(8);
}

// Nothing is wrong; it only looks so.
void stay_healthy(Case& one, Dice& dice) {
  one.fault = "none";
  one.truth = {.healthy = true, .words = "healthy"};
  auto& actions = one.actions;
  const auto program = draw_program(dice);
  const auto compute = [&](int low, int high, bool all) {
    Action action{.kind = Kind::kCompute, .ms = dice.between(low, high)};
    if (!all) action.only_rank = dice.below(one.ranks());
    return action;
  };
  const auto like = [](Action action, int comm) {
    action.comm = comm;
    return action;
  };
  const int kind = dice.below(7);
  if (kind == 1) {
    actions.push_back(compute(500, 4000, false));
    one.truth.words += ": a rank starts late";
  }
  actions.push_back({.kind = Kind::kCreate});
  actions.push_back(program.first);
  if (kind == 2) {
    actions.push_back(compute(500, 5000, false));
    one.truth.words += ": a slow rank";
  }
  if (kind == 3) {
    actions.push_back(compute(2000, 6000, true));
    one.truth.words += ": all compute for long";
  }
  if (kind == 4) {
    actions.push_back({.kind = Kind::kCreate, .comm = 2});
    actions.push_back(like(program.first, 2));
    actions.push_back(like(program.last, 2));
    one.truth.words += ": two communicators";
  }
  if (kind == 5) {
    actions.push_back({.kind = Kind::kSplit, .made = 1, .parts = dice.between(1, 2)});
    actions.push_back(like(program.first, 1));
    one.truth.words += ": a communicator that is split";
  }
  if (kind == 6) {
    one.fabric.faults = fmt::format(
        "[[fault]]\nkind = \"hold-wr\"\nhost = \"{}\"\nnth = {}\ntimes = {}\ndelay_ms = {}\n",
        dice.of(one.fabric.hosts), dice.between(1, 60), dice.between(1, 30), dice.between(1, 20));
    one.truth.words += ": some messages are late";
  }
  actions.push_back(program.body);
  actions.push_back(program.last);
  if (kind == 4) actions.push_back({.kind = Kind::kDestroy, .comm = 2});
  if (kind == 5) actions.push_back({.kind = Kind::kDestroy, .comm = 1});
  one.ending = dice.of(Endings{{Ending::kByItself, 55},
                               {Ending::kLive, 15},
                               {Ending::kTimeLimit, 15},
                               {Ending::kCancelled, 15}});
  if (one.ending != Ending::kByItself) actions.push_back({.kind = Kind::kCompute, .ms = 600'000});
  one.culprit_events = 3;
  actions.push_back({.kind = Kind::kDestroy});
  one.collected = dice.of(std::vector<std::pair<Collected, int>>{
      {Collected::kAll, 80}, {Collected::kNoBoxes, 10}, {Collected::kHalf, 10}});
  one.restarted = one.ending == Ending::kTimeLimit && dice.percent(20);
}

Case draw_any(const Wanted& wanted, unsigned long seed, Dice& dice) {
  Case one;
  one.seed = seed;
  one.nccl = dice.of(wanted.releases);
  draw_shape(one, dice);
  draw_settings(one, dice);
  draw_clocks(one, dice);
  if (wanted.healthy || (dice.percent(12) && wanted.fault.empty() && wanted.ending.empty()))
    stay_healthy(one, dice);
  else
    plant(one, wanted.fault, dice);
  return one;
}

}  // namespace

Case draw(unsigned long seed, const Wanted& wanted) {
  Dice dice(seed * 2654435761UL + (wanted.healthy ? 17 : 0));
  constexpr int kTries = 10'000;
  for (int tried = 0; tried < kTries; ++tried) {
    Case one = draw_any(wanted, seed, dice);
    if (ending_of(one).find(wanted.ending) != std::string::npos) return one;
  }
  throw std::runtime_error("no job ends by " + wanted.ending);
}

}  // namespace nnd::verdict

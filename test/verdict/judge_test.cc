// The judge itself: lines that a report could say, each of a job whose truth is known.
#include "verdict/judge.h"

#include "support/catch.h"

using namespace nnd::verdict;

namespace {

// Three nodes of two ranks each, all logs there.
Case three_nodes(Truth truth) {
  Case one;
  one.nodes = 3;
  one.gpus = 2;
  one.fabric.hosts = {"node1", "node10", "node11"};
  one.truth = std::move(truth);
  return one;
}

Played said(const std::string& line, const std::string& blame, int exit_code = 1) {
  Played out;
  out.line = line;
  out.exit_code = exit_code;
  out.report = {{"blame", blame}};
  out.collection.ranks = {0, 1, 2, 3, 4, 5};
  return out;
}

Class judged(const Case& one, const Played& played) { return judge(one, played).judged; }

const Case kExit = three_nodes({.ranks = {3}, .nodes = {1}, .says = {"ended by itself"}});
const Case kPort = three_nodes({.network = Network::kGuilty,
                                .nodes = {1},
                                .hcas = {"mlx5_1"},
                                .says = {"down"},
                                .tells_from_nodes = 3});

}  // namespace

TEST_CASE("a rank that ended by itself", "[judge]") {
  const std::string innocent = "not the network";
  CHECK(judged(kExit, said("not fine: not the network: rank 3 (node10) had ended by itself; ranks "
                           "0-2 wait.",
                           innocent)) == Class::kRight);
  CHECK(judged(kExit, said("not fine: not the network: ranks 0,3 (node1, node10) ended by itself.",
                           innocent)) == Class::kWrong);
  CHECK(judged(kExit, said("not fine: not the network: rank 4 (node11) died.", innocent)) ==
        Class::kWrong);
  CHECK(judged(kExit, said("not fine: not the network: rank 3 (node10) is stopped.", innocent)) ==
        Class::kVague);
  CHECK(judged(kExit, said("not fine: mlx5_1 of node10: WC-12.", "network")) == Class::kAccused);
  CHECK(judged(kExit, said("fine: healthy.", "nothing", 0)) == Class::kMissed);
  CHECK(judged(kExit, said("not fine: rank 3 (node10) had ended by itself.", innocent)) ==
        Class::kWrong);  // the sentence doesn't acquit, the JSON does
}

TEST_CASE("one of several nodes is vague, and one that is innocent wrong", "[judge]") {
  const auto late = [](const std::string& nodes) {
    return judged(kExit, said("not fine: not the network: a process of " + nodes +
                                  " is late since 01:00; ranks 0-1 (node1) wait.",
                              "not the network"));
  };
  CHECK(late("node10") == Class::kVague);
  CHECK(late("node1 or node10") == Class::kVague);
  CHECK(late("node1 or node11") == Class::kWrong);
  CHECK(late("node1") == Class::kWrong);
}

TEST_CASE("what was not collected need not be known", "[judge]") {
  Played some =
      said("not fine: not the network: who ended first can't be told.", "not the network");
  CHECK(judged(kExit, some) == Class::kVague);
  some.collection = {.ranks = {0}, .whole = false};
  CHECK(judged(kExit, some) == Class::kHonest);
  some.line = "not fine: not the network: rank 0 (node1) ended by itself.";
  CHECK(judged(kExit, some) == Class::kWrong);
  Played quiet = said("fine: healthy so far.", "nothing", 0);
  quiet.collection.boxes = false;
  CHECK(judged(kExit, quiet) == Class::kMissed);  // nothing tells that it still runs
  quiet.line = "2 logs just end: whether these processes run or were killed isn't known.";
  CHECK(judged(kExit, quiet) == Class::kHonest);
}

TEST_CASE("a fault of the fabric that no message met is none", "[judge]") {
  Case one = kPort;
  one.fabric.faults = "[[fault]]\n";
  CHECK(judged(one, said("fine: healthy.", "nothing", 0)) == Class::kRight);
  Played met = said("fine: healthy.", "nothing", 0);
  met.fault_met = true;
  CHECK(judged(one, met) == Class::kMissed);
}

TEST_CASE("a port of one node", "[judge]") {
  CHECK(judged(kPort, said("not fine: mlx5_1 of node10: ASYNC-PORT, a port went down.",
                           "network")) == Class::kRight);
  CHECK(judged(kPort, said("not fine: mlx5_0 of node10 went down.", "network")) == Class::kVague);
  CHECK(judged(kPort, said("not fine: between mlx5_1 of node1 and mlx5_1 of node10: down.",
                           "network")) == Class::kVague);
  CHECK(judged(kPort, said("not fine: mlx5_1 of node1 went down.", "network")) == Class::kWrong);
  CHECK(judged(kPort, said("not fine: not the network: rank 3 (node10) died.",
                           "not the network")) == Class::kAcquitted);
}

TEST_CASE("a node whose log is not there is named by its address", "[judge]") {
  Played some = said("not fine: between mlx5_1 of node11 and 10.200.1.2: SUB-RAIL.", "network");
  some.collection.ranks = {4, 5};
  some.collection.whole = false;
  CHECK(judged(kPort, some) == Class::kHonest);
  some.line = "not fine: between mlx5_1 of node11 and 10.200.1.1: SUB-RAIL.";
  CHECK(judged(kPort, some) == Class::kWrong);
}

TEST_CASE("what a release does not tell need not be known, if it is said what it was", "[judge]") {
  Case one = kExit;
  one.truth.says = {"different collective"};
  Played all = said(
      "not fine: not the network: all 4 processes wait for each other's data, as in "
      "different collectives.",
      "not the network");
  CHECK(judged(one, all) == Class::kVague);
  one.truth.untold = true;
  CHECK(judged(one, all) == Class::kHonest);
  all.line = "not fine: not the network: all 4 processes wait for each other.";
  CHECK(judged(one, all) == Class::kVague);
}

TEST_CASE("a tie is said as a tie", "[judge]") {
  Played tie = said("not fine: between mlx5_1 of node1 and mlx5_1 of node10: down.", "network");
  tie.report["culprits"] = {{{"kind", "pair"}, {"failing", 1}, {"working", 0}}};
  CHECK(judged(kPort, tie) == Class::kHonest);
  Played nodes =
      said("not fine: node1 or node10 (all that failed is between the two): down.", "network");
  nodes.report["culprits"] = {{{"kind", "host"}, {"failing", 2}, {"working", 2}}};
  CHECK(judged(kPort, nodes) == Class::kVague);  // it names no HCA
  Case node = kPort;
  node.truth.hcas.clear();
  CHECK(judged(node, nodes) == Class::kHonest);
  tie.report["culprits"][0]["failing"] = 2;
  CHECK(judged(kPort, tie) == Class::kVague);
  tie.report["culprits"][0]["failing"] = 1;
  tie.line = "not fine: between mlx5_1 of node1 and mlx5_1 of node11: down.";
  CHECK(judged(kPort, tie) == Class::kWrong);
}

TEST_CASE("who left no log is named with those whose logs were not collected", "[judge]") {
  const Case absent = three_nodes({.ranks = {3}, .nodes = {1}, .says = {"no log"}, .no_log = true});
  Played half = said("not fine: ranks 3,5 of 6 left no log.", "open");
  half.collection = {.ranks = {0, 1, 2, 4}, .whole = false};
  CHECK(judged(absent, half) == Class::kHonest);
  CHECK(judged(kExit, half) == Class::kHonest);  // whose log was not collected either
  half.collection.ranks.insert(5);
  CHECK(judged(absent, half) == Class::kWrong);
  half.collection.ranks = {0, 1, 2, 3, 4};
  CHECK(judged(kExit, half) == Class::kWrong);
}

TEST_CASE("a launcher ends all at once", "[judge]") {
  Case killed = three_nodes({.ranks = {3}, .nodes = {1}, .says = {"died"}, .silent = true});
  const Played ended = said(
      "not the network: 6 processes on 3 hosts ended together, with nothing "
      "wrong before: from outside, or one of them died and its launcher "
      "ended the others.",
      "not the network", 0);
  CHECK(judged(killed, ended) == Class::kMissed);
  killed.ending = Ending::kMpirun;
  CHECK(judged(killed, ended) == Class::kHonest);
}

TEST_CASE("nothing is wrong", "[judge]") {
  const Case healthy = three_nodes({.healthy = true});
  CHECK(judged(healthy, said("fine: healthy.", "nothing", 0)) == Class::kRight);
  CHECK(judged(healthy, said("not fine: something.", "open")) == Class::kAlarm);
  Played alarmed = said("works, with warnings: healthy.", "nothing", 0);
  alarmed.alarms = {"conn.stall HANG-DATA"};
  CHECK(judged(healthy, alarmed) == Class::kAlarm);
}

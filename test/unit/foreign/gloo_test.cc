// Gloo's words on ranks that it could not connect, or lost.
#include "foreign/gloo.h"

#include <cerrno>

#include "support/catch.h"

using namespace nnd::foreign;
using nccl_net_diag::Cause;

namespace {

std::vector<Fact> facts_of(const std::string& line) {
  std::vector<Fact> out;
  const Gloo gloo([&](Fact&& fact) { out.push_back(std::move(fact)); });
  gloo.take(line, 7);
  return out;
}

Fact only(const std::string& line) {
  const auto all = facts_of(line);
  REQUIRE(all.size() == 1);
  CHECK(all[0].line == 7);
  CHECK(all[0].source == Source::kOutput);
  return all[0];
}

const std::string kMesh =
    "[rank8]:[E ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with "
    "[../third_party/gloo/gloo/transport/tcp/pair.cc:152] ";

}  // namespace

TEST_CASE("Gloo could not connect to a peer", "[gloo]") {
  auto fact =
      only(kMesh + "timed out connecting: SO_ERROR: No route to host, remote=[10.0.0.2]:229");
  CHECK(fact.what == What::kFailure);
  CHECK(fact.cause == Cause::kDevOob);
  CHECK(fact.sure == Sure::kFollows);
  CHECK(fact.error == EHOSTUNREACH);
  CHECK(fact.peer == "10.0.0.2");
  CHECK(fact.writer.rank == 8);
  CHECK(fact.detail == "Gloo could not connect to a peer: No route to host");
  // As people copy it, in several lines.
  for (const auto* loopback : {"127.0.0.1", "127.0.1.1", "::1"}) {
    fact = only(std::string("  timed out connecting: SO_ERROR: Connection refused, remote=[") +
                loopback + "]:22914");
    CHECK(fact.cause == Cause::kDevOob);
    CHECK(fact.peer == loopback);
  }
  fact =
      only(kMesh + "timed out connecting: SO_ERROR: Connection refused, remote=[10.0.0.2]:22914");
  CHECK(fact.what == What::kEcho);
  CHECK(fact.error == ECONNREFUSED);
  CHECK(only(kMesh + "no error").detail ==
        "Gloo could not connect to a peer in time, and does not say to which");
  CHECK(only("Gloo connectFullMesh failed with Connection reset by peer").detail ==
        "Gloo could not connect its ranks: Connection reset by peer");
}

TEST_CASE("Gloo lost a peer", "[gloo]") {
  const std::string pair = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:553] ";
  auto fact = only(pair + "Connection closed by peer [10.0.0.2]:4711. This is typically caused by");
  CHECK(fact.what == What::kEcho);
  CHECK(fact.detail == "Gloo's connection was closed by its peer");
  CHECK(fact.peer == "10.0.0.2");
  fact = only(pair + "Read error [10.0.0.2]:4711: Connection reset by peer. This is typically");
  CHECK(fact.detail == "Gloo lost its peer: Connection reset by peer");
  fact = only(
      "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out "
      "waiting 1800000ms for recv operation to complete");
  CHECK(fact.detail == "Gloo waited for a peer for 1800000ms");
}

TEST_CASE("Gloo takes the loopback address", "[gloo]") {
  const auto fact = only(
      "[rank0]:[W ProcessGroupGloo.cpp:715] Warning: Unable to resolve hostname to a (local) "
      "address. Using the loopback address as fallback. Manually set the network interface to bind "
      "to with GLOO_SOCKET_IFNAME. (function operator())");
  CHECK(fact.what == What::kSign);
  CHECK(fact.cause == Cause::kDevOob);
  CHECK(fact.sure == Sure::kFollows);
}

TEST_CASE("what may pass, or is another's, is nothing of Gloo's", "[gloo]") {
  for (const auto* line :
       {"[/gloo/transport/tcp/debug_logger.cc:9] ERROR failed to connect, willRetry=1, retry=1, "
        "retryLimit=3, rank=6, size=8, local=[10.0.0.1]:1, remote=[10.0.0.2]:2, error=SO_ERROR: "
        "Connection refused, remote=[10.0.0.2]:2",
        "Gloo connectFullMesh failed with ", "Gloo connectFullMesh failed with [x.cc:1]",
        "[db.cc:1] Connection closed by peer [10.0.0.2]:1",
        "[gloo/transport/tcp/pair.cc:1] Read timeout", "Unable to resolve hostname"})
    CHECK(facts_of(line).empty());
  CHECK(only("timed out connecting: SO_ERROR: ").peer.empty());
  CHECK(only("timed out connecting: SO_ERROR: Connection refused, remote=[").peer.empty());
  CHECK(only("[gloo/transport/tcp/pair.cc:1] Read error ").detail ==
        "Gloo lost its peer: an error");
}

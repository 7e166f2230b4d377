// PyTorch's words on ranks that don't find each other.
#include "foreign/rendezvous.h"

#include <cerrno>

#include "support/catch.h"

using namespace nnd::foreign;
using nccl_net_diag::Cause;

namespace {

std::vector<Fact> facts_of(const std::string& line) {
  std::vector<Fact> out;
  Rendezvous rendezvous([&](Fact&& fact) { out.push_back(std::move(fact)); });
  rendezvous.take(line, 7);
  return out;
}

Fact only(const std::string& line) {
  const auto all = facts_of(line);
  REQUIRE(all.size() == 1);
  CHECK(all[0].line == 7);
  return all[0];
}

}  // namespace

TEST_CASE("PyTorch's store can't be reached", "[rendezvous]") {
  auto fact = only(
      "[rank3]: torch.distributed.DistNetworkError: The client socket has timed out after 60000ms "
      "while trying to connect to (node0, 29500).");
  CHECK(fact.cause == Cause::kOobStore);
  CHECK(fact.sure == Sure::kFollows);
  CHECK(fact.writer.rank == 3);
  CHECK(fact.detail == "PyTorch's store at node0:29500 could not be reached for 60000ms");
  fact = only(
      "torch.distributed.DistNetworkError: The client socket has failed to connect to any network "
      "address of (node0, 29500). The client socket has failed to connect to 10.0.0.1:29500 "
      "(errno: 113 - No route to host).");
  CHECK(fact.error == EHOSTUNREACH);
  CHECK(fact.sure == Sure::kSaid);
  fact = only(
      "RuntimeError: The client socket has failed to connect to any network address of (nodeX, "
      "29500). The IPv4 network addresses of (nodeX, 29500) cannot be retrieved (gai error: -2 - "
      "Name or service not known).");
  CHECK(fact.detail ==
        "the name of PyTorch's store, nodeX:29500, has no address there (-2 - Name or service not "
        "known)");
}

TEST_CASE("why is in a line before", "[rendezvous]") {
  std::vector<Fact> all;
  Rendezvous rendezvous([&](Fact&& fact) { all.push_back(std::move(fact)); });
  rendezvous.take(
      "[W socket.cpp:697] [c10d] The client socket has failed to connect to "
      "0.104.99.143:47389 (errno: 110 - Connection timed out).",
      1);
  REQUIRE(all.size() == 1);  // nothing else will do
  CHECK(all[0].detail ==
        "PyTorch's store at 0.104.99.143:47389 could not be reached (errno 110 - Connection timed "
        "out): 0.104.99.143 is no host's address");
  rendezvous.take(
      "[E socket.cpp:753] [c10d] The client socket has failed to connect to any network "
      "address of (6841231, 47389).",
      2);
  REQUIRE(all.size() == 2);
  CHECK(all[1].error == ETIMEDOUT);
  CHECK(all[1].detail ==
        "PyTorch's store at 6841231:47389 could not be reached (errno 110 - Connection timed out): "
        "0.104.99.143 is no host's address");
}

TEST_CASE("what is tried once more says nothing yet", "[rendezvous]") {
  std::vector<Fact> all;
  Rendezvous rendezvous([&](Fact&& fact) { all.push_back(std::move(fact)); });
  const auto take = [&](const std::string& line) {
    rendezvous.take(line, 1);
    return all.size();
  };
  CHECK(take("[W socket.cpp:697] [c10d] The client socket has failed to connect to node0:29500 "
             "(errno: 110 - Connection timed out).") == 0);
  CHECK(take("[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29400 (errno: "
             "98 - Address already in use).") == 0);
  CHECK(take("[E socket.cpp:472] [c10d] The server socket has failed to listen on any local "
             "network address.") == 1);
  CHECK(all[0].detail == "port 29400");
}

TEST_CASE("its port is taken", "[rendezvous]") {
  auto fact = only(
      "RuntimeError: The server socket has failed to listen on any local network address. The "
      "server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use). The "
      "server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use).");
  CHECK(fact.cause == Cause::kOobPort);
  CHECK(fact.detail == "port 29500");
  fact = only(
      "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
      "network address. port: 29501, useIpv6: false, code: -98, name: EADDRINUSE, message: address "
      "already in use");
  CHECK(fact.detail == "port 29501");
}

TEST_CASE("ranks that did not come", "[rendezvous]") {
  auto fact = only(
      "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 "
      "clients joined.");
  CHECK(fact.cause == Cause::kOobStore);
  CHECK(fact.detail == "7 of 8 processes came to PyTorch's store");
  fact = only(
      "[rank1]: torch.distributed.DistBackendError: [1] is setting up NCCL communicator and "
      "retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') "
      "got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0");
  CHECK(fact.detail == "rank 0 gave no id of NCCL's for the communicator");
}

TEST_CASE("a rank that waits at the store for another", "[rendezvous]") {
  auto fact = only(
      "[rank1]:[W811 03:12:44.1 socket.cpp:489] [c10d] waitForInput: socket SocketImpl(fd=82, "
      "addr=[localhost]:50912, remote=[localhost]:29500) timed out after 1800000ms");
  CHECK(fact.what == What::kEcho);
  CHECK(fact.writer.rank == 1);
  CHECK(fact.detail ==
        "a wait of 1800 s at PyTorch's store at [localhost]:29500 for what another process puts "
        "there");
  fact = only(
      "torch.distributed.DistStoreError: wait timeout after 900000ms, keys: "
      "/none/torchelastic/role_info/0, /none/torchelastic/role_info/1");
  CHECK(fact.detail ==
        "a wait of 900 s at PyTorch's store for /none/torchelastic/role_info/0, which another "
        "process puts there");
  CHECK(facts_of("wait timeout after x ms, keys: /a").empty());
  CHECK(facts_of("waitForInput: poll for socket SocketImpl(fd=82, addr=[a]:1, remote=[b]:2) "
                 "returned 0, likely a timeout")
            .empty());
}

TEST_CASE("an address of no host is a setting's", "[rendezvous]") {
  const std::string begin = "[W socket.cpp:663] [c10d] The client socket has failed to connect to ";
  CHECK(only(begin + "[::ffff:255.254.0.0]:29500 (errno: 110 - Connection timed out).").by_setting);
  CHECK_FALSE(only("The client socket has failed to connect to any network address of (node0, 1). "
                   "The client socket has failed to connect to 10.0.0.1:1 (errno: 113 - No route "
                   "to host).")
                  .by_setting);
}

TEST_CASE("what may pass, or is another's, is nothing of this", "[rendezvous]") {
  for (const char* const line :
       {"[W socket.cpp:601] [c10d] The client socket has failed to connect to 10.0.0.1:29500 "
        "(errno: 111 - Connection refused).",
        "[E socket.cpp:957] [c10d] The client socket has failed to connect to any network address "
        "of (node0, 29500).",
        "The client socket has timed out after 60000ms while trying to connect to (",
        "The client socket has timed out after ) while trying to connect to ), (",
        "The server socket has failed to listen on any local network address. The server socket "
        "has failed to bind to [::]:80 (errno: 13 - Permission denied).",
        "The server socket has failed to listen on any local network address. EADDRINUSE The "
        "server socket has failed to bind to  (",
        "Still 3 seconds waiting for clients. none",
        "retrieving ncclUniqueId from [x] got error: ", "our socket has closed"})
    CHECK(facts_of(line).size() <= (std::string(line).find("EADDRINUSE") != std::string::npos));
}

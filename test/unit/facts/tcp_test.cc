// How far a TCP connection is, by the kernel's table of a namespace.
#include "facts/tcp.h"

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using namespace nnd::facts::test;

namespace {

constexpr const char* kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

TcpEnd end(const std::string& address, std::uint16_t port) { return {gid(address), port}; }

TcpTable table(const std::string& rows, const std::string& rows6 = "") {
  Tree tree;
  tree.write("proc/self/net/tcp", kHead + rows).write("proc/self/net/tcp6", kHead + rows6);
  return TcpTable(tree.root());
}

}  // namespace

TEST_CASE("a TCP connection is told by its other end, as the kernel writes it") {
  // 10.1.0.4:43211 listens; 10.1.0.9 has come; from here, one has no answer and one has.
  const TcpTable seen = table(
      "   0: 0400010A:A8CB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1 1 0\n"
      "   1: 0400010A:A8CB 0900010A:C001 01 00000000:00000000 00:00000000 00000000 0 0 0 1 0\n"
      "   2: 0400010A:A8CC 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 2 1 0\n"
      "   3: 0400010A:8001 0100000A:0050 02 00000001:00000000 01:00000000 00000000 0 0 3 1 0\n"
      "   4: 0400010A:8002 0200000A:0050 01 00000000:00000000 00:00000000 00000000 0 0 4 1 0\n");
  CHECK(seen.from(end("10.1.0.4", 43211)) == TcpState::kMade);
  CHECK(seen.from(end("10.1.0.4", 43212)) == TcpState::kNone);
  CHECK(seen.from(end("10.1.0.4", 43213)) == TcpState::kUnknown);
  CHECK(seen.to(end("10.0.0.1", 80)) == TcpState::kTrying);
  CHECK(seen.to(end("10.0.0.2", 80)) == TcpState::kMade);
  CHECK(seen.to(end("10.0.0.2", 81)) == TcpState::kUnknown);
}

TEST_CASE("a TCP connection whose other end is closed is told from one that is open") {
  const TcpTable seen = table(
      "   0: 0400010A:A8CB 0900010A:C001 08 00000000:00000001 00:00000000 00000000 0 0 1 1 0\n"
      "   1: 0400010A:8002 0200000A:0050 08 00000000:00000001 00:00000000 00000000 0 0 2 1 0\n");
  CHECK(seen.from(end("10.1.0.4", 43211)) == TcpState::kHungUp);
  CHECK(seen.to(end("10.0.0.2", 80)) == TcpState::kHungUp);
}

TEST_CASE("the same over IPv6, and where nothing can be read") {
  const TcpTable seen = table(
      "",
      "   0: 00000000000000000000000001000000:8001 "
      "B80D0120000000000000000002000000:0050 02 00000001:00000000 01:00000000 00000000 0 0 3\n");
  CHECK(seen.to(end("2001:db8::2", 80)) == TcpState::kTrying);
  CHECK(TcpTable("/nowhere").to(end("10.0.0.1", 80)) == TcpState::kUnknown);
}

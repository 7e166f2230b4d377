#include "cli/ping/meeting.h"

#include <cerrno>
#include <vector>

#include "cli/common/reach.h"
#include "support/catch.h"
#include "support/free_port.h"
#include "support/listening_port.h"

using namespace nnd::cli;

TEST_CASE("who listens, refuses and is silent are told apart, all at once") {
  MeetingListener listener;
  const auto port = listener.listen_at("127.0.0.1");
  REQUIRE_FALSE(port.empty());
  nnd::test::ListeningPort full(0);
  full.fill();
  const auto nobody = std::to_string(nnd::test::free_port());
  CHECK(reach({{"127.0.0.1", port},
               {"127.0.0.1", nobody},
               {"127.0.0.1", full.port()},
               {"127.0.0.1", port},
               {"no address", port}}) == std::vector{0, ECONNREFUSED, ETIMEDOUT, 0, EINVAL});
  CHECK(reach({}).empty());
}

TEST_CASE("what is no address of this host is not listened at") {
  MeetingListener listener;
  CHECK(listener.listen_at("192.0.2.77").empty());
  CHECK_FALSE(listener.listen_at("127.0.0.1").empty());
}

TEST_CASE("a host that does not come to another is told with both, the interface and the address") {
  const MeetingTry silent{"node1", "node2", "172.17.0.1", "docker0", ETIMEDOUT};
  CHECK(silent.outcome() == "silent");
  CHECK(trouble_of(silent) ==
        "node1 does not reach node2 where ranks would meet, at docker0 172.17.0.1 there: nothing "
        "answers within 3 s: a firewall drops it, or no way leads there");
  CHECK(remedy_of(silent).find("node2 would take docker0 now") != std::string::npos);
  const MeetingTry refused{"node1", "node2", "10.0.0.2", "eth0", ECONNREFUSED};
  CHECK(trouble_of(refused).find("is refused, though it listens there") != std::string::npos);
  CHECK(to_json(MeetingTry{"a", "b", "10.0.0.2", "eth0", 0}).at("outcome") == "listens");
}

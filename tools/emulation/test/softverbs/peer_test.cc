// Two processes on the fabric.
#include <cerrno>

#include "softverbs/control.h"
#include "stage.h"
#include "support/catch.h"

using stage::Stage;

namespace {

constexpr const char* kTwoNodes = R"(
resolve_timeout_ms = 20
[[host]]
count = 2
[[host.hca]]
address = ["10.0.0.{h+1}/24"]
[[host.hca]]
name = "other"
address = "10.{h+1}.0.1/24"
)";

// Short enough to wait for: two tries of about 17 ms.
constexpr const char* kShort = "12";
constexpr const char* kLong = "20";  // two tries of four seconds
constexpr const char* kRetryExceeded = "12 129";

// The nth work request of node0 fails, as kRemoteError.
std::string with_failing_request(int nth) {
  return std::string(kTwoNodes) + R"(
[[fault]]
kind = "fail-wr"
host = "node0"
status = "REM_OP_ERR"
vendor_err = 137
nth = )" +
         std::to_string(nth) + "\n";
}
constexpr const char* kRemoteError = "11 137";

}  // namespace

TEST_CASE("data crosses from one process to another") {
  Stage stage(kTwoNodes);
  auto a = stage.peer("node0", "mlx5_0");
  auto b = stage.peer("node1", "mlx5_0");
  REQUIRE(stage::connect(*a, *b) == "0");
  for (const char* length : {"1", "8", "4097", "1048576"}) {
    INFO(length << " bytes");
    a->ask(std::string("fill ") + length);
    CHECK(a->ask(std::string("write ") + length) == "0");
    CHECK(a->ask("completion") == "0 0");
    CHECK(a->ask(std::string("sum ") + length) == b->ask(std::string("sum ") + length));
  }
}

TEST_CASE("the same over InfiniBand, by LID") {
  Stage stage(R"(
[[host]]
count = 2
[[host.hca]]
link_layer = "infiniband"
)");
  auto a = stage.peer("node0");
  auto b = stage.peer("node1");
  REQUIRE(stage::connect(*a, *b) == "0");
  a->ask("fill 100000");
  a->ask("write 100000");
  CHECK(a->ask("completion") == "0 0");
  CHECK(a->ask("sum 100000") == b->ask("sum 100000"));
}

TEST_CASE("an unreachable subnet is a timeout on the way to RTR") {
  Stage stage(kTwoNodes);
  auto a = stage.peer("node0", "other");
  auto b = stage.peer("node1", "other");
  CHECK(stage::connect(*a, *b) == std::to_string(ETIMEDOUT));
}

TEST_CASE("a peer that is killed costs retry exceeded, with mlx5's vendor error") {
  Stage stage(kTwoNodes);
  auto a = stage.peer("node0", "mlx5_0");
  auto b = stage.peer("node1", "mlx5_0");
  REQUIRE(stage::connect(*a, *b, kShort) == "0");
  a->ask("write 8");
  REQUIRE(a->ask("completion") == "0 0");
  b->kill();
  a->ask("write 8");
  CHECK(a->ask("completion") == kRetryExceeded);
}

TEST_CASE("a forked child does not keep its parent's connections alive") {
  Stage stage(kTwoNodes);
  auto a = stage.peer("node0", "mlx5_0");
  auto b = stage.peer("node1", "mlx5_0");
  REQUIRE(stage::connect(*a, *b, kShort) == "0");
  a->ask("write 8");
  REQUIRE(a->ask("completion") == "0 0");
  b->tell("abandon");
  b->wait();
  a->ask("write 8");
  CHECK(a->ask("completion") == kRetryExceeded);
}

TEST_CASE("a link that comes back in time costs nothing but time") {
  Stage stage(kTwoNodes);
  softverbs::Control control(stage.fabric());
  auto a = stage.peer("node0", "mlx5_0");
  auto b = stage.peer("node1", "mlx5_0");
  REQUIRE(stage::connect(*a, *b, kLong) == "0");
  control.set_link("node1", "mlx5_0", 1, false);
  CHECK(b->ask("event") == "10");  // PORT_ERR
  CHECK(b->ask("state") == "1");
  CHECK(a->ask("state") == "4");
  a->ask("fill 5000");
  a->ask("write 5000");
  control.set_link("node1", "mlx5_0", 1, true);
  CHECK(b->ask("event") == "9");  // PORT_ACTIVE
  CHECK(a->ask("completion") == "0 0");
  CHECK(a->ask("sum 5000") == b->ask("sum 5000"));
}

TEST_CASE("a link that stays down, or a host that is lost, costs retry exceeded") {
  Stage stage(kTwoNodes);
  softverbs::Control control(stage.fabric());
  auto a = stage.peer("node0", "mlx5_0");
  auto b = stage.peer("node1", "mlx5_0");
  REQUIRE(stage::connect(*a, *b, kShort) == "0");
  SECTION("link") { control.set_link("node0", "mlx5_0", 1, false); }
  SECTION("host") {
    control.set_lost("node1", true);
    control.raise_event("node0", "mlx5_0", 1, 18);  // read behind the loss
  }
  a->ask("event");
  a->ask("write 8");
  CHECK(a->ask("completion") == kRetryExceeded);
}

TEST_CASE("a process that comes late finds the link down") {
  Stage stage(kTwoNodes);
  softverbs::Control(stage.fabric()).set_link("node0", "mlx5_0", 1, false);
  auto a = stage.peer("node0", "mlx5_0");
  CHECK(a->ask("introduce") == "no RDMA device with an active port, or not the one named");
}

TEST_CASE("faults of the scenario happen") {
  SECTION("RTR refused") {
    Stage stage(std::string(kTwoNodes) + R"(
[[fault]]
kind = "refuse-rtr"
host = "node0"
hca = "mlx5_0"
errno = "EHOSTUNREACH"
)");
    auto a = stage.peer("node0", "mlx5_0");
    auto b = stage.peer("node1", "mlx5_0");
    CHECK(stage::connect(*a, *b) == std::to_string(EHOSTUNREACH));
    CHECK(b->ask("connect " + a->ask("introduce")) == "0");
  }
  SECTION("the second work request fails") {
    Stage stage(with_failing_request(2));
    auto a = stage.peer("node0", "mlx5_0");
    auto b = stage.peer("node1", "mlx5_0");
    REQUIRE(stage::connect(*a, *b) == "0");
    a->ask("write 8");
    CHECK(a->ask("completion") == "0 0");
    a->ask("write 8");
    CHECK(a->ask("completion") == kRemoteError);
  }
  SECTION("a work request fails while one before it is still on its way") {
    Stage stage(with_failing_request(3));
    auto a = stage.peer("node0", "mlx5_0");
    auto b = stage.peer("node1", "mlx5_0");
    REQUIRE(stage::connect(*a, *b, kLong) == "0");
    b->stop();
    for (const char* const length : {"200000", "240000", "8"})  // more than the kernel takes for it
      a->ask(std::string("write ") + length);
    b->go_on();
    for (int i = 0; i < 2; ++i) CHECK(a->ask("completion") == "0 0");
    CHECK(a->ask("completion") == kRemoteError);
  }
  SECTION("a call fails") {
    Stage stage(std::string(kTwoNodes) + R"(
[[fault]]
kind = "fail-call"
verb = "ibv_modify_qp"
nth = 2
errno = "ENOMEM"
)");
    auto a = stage.peer("node0", "mlx5_0");
    auto b = stage.peer("node1", "mlx5_0");
    CHECK(stage::connect(*a, *b) == std::to_string(ENOMEM));
  }
  SECTION("the link drops after a number of messages, and comes back") {
    Stage stage(std::string(kTwoNodes) + R"(
[[fault]]
kind = "link-down"
host = "node0"
hca = "mlx5_0"
after_messages = 2
up_after_ms = 30
)");
    auto a = stage.peer("node0", "mlx5_0");
    auto b = stage.peer("node1", "mlx5_0");
    REQUIRE(stage::connect(*a, *b, kLong) == "0");
    for (int i = 0; i < 3; ++i) a->ask("write 8");
    CHECK(a->ask("event") == "10");
    CHECK(a->ask("event") == "9");
    for (int i = 0; i < 3; ++i) CHECK(a->ask("completion") == "0 0");
  }
  SECTION("an async event") {
    Stage stage(std::string(kTwoNodes) + R"(
[[fault]]
kind = "async-event"
host = "node0"
event = "GID_CHANGE"
after_messages = 1
)");
    auto a = stage.peer("node0", "mlx5_0");
    auto b = stage.peer("node1", "mlx5_0");
    REQUIRE(stage::connect(*a, *b) == "0");
    a->ask("write 8");
    a->ask("write 8");
    CHECK(a->ask("event") == "18");
  }
}

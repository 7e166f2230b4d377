#include "cli/check/root.h"

#include "support/catch.h"
#include "support/free_port.h"
#include "support/listening_port.h"

using namespace nnd;
using namespace nnd::cli;
using nnd::test::ListeningPort;

namespace {

RootTry tried_at(const std::string& port) { return try_root({"127.0.0.1", port}, {}); }

RootTry far_away() {
  RootTry out;
  out.root = "node0:29500";
  out.address = "10.0.0.7";
  out.source = "10.0.0.5";
  out.netdev = "eth0";
  return out;
}

}  // namespace

TEST_CASE("a root is a host, with a port or without") {
  CHECK(root_address("node0")->port == "0");
  CHECK(root_address("node0:29500")->port == "29500");
  CHECK(root_address("fd00::1")->host == "fd00::1");
  CHECK_FALSE(root_address("node0:port"));
}

TEST_CASE("what answers at the root's port is told apart") {
  ListeningPort here(8), full(0);
  CHECK(tried_at(here.port()).outcome == "listens");
  CHECK(tried_at(here.port()).own);
  CHECK(tried_at(std::to_string(test::free_port())).outcome == "refused");
  CHECK(tried_at("0").outcome.empty());
  full.fill();
  const auto silent = tried_at(full.port());
  CHECK(silent.outcome == "silent");
  CHECK(root_trouble(silent).find("answers nothing within 3 s") != std::string::npos);
}

TEST_CASE("what keeps ranks from the root") {
  auto tried = far_away();
  CHECK(root_trouble(tried).empty());
  tried.outcome = "refused";  // nobody listens before the job
  CHECK(root_trouble(tried).empty());
  tried.outcome = "unreachable";
  tried.why = "No route to host";
  CHECK(root_trouble(tried) == "node0:29500 (10.0.0.7) can't be reached: No route to host.");
  tried.source.clear();
  tried.why = "Network is unreachable";
  CHECK(root_trouble(tried) ==
        "No route leads from here to node0:29500 (10.0.0.7): Network is unreachable.");
  tried.address.clear();
  tried.why = "Name or service not known";
  CHECK(root_trouble(tried).starts_with("The name of node0:29500 stands for no address here"));
}

TEST_CASE("another interface than the one by which ranks meet is warned of") {
  auto tried = far_away();
  CHECK(root_warning(tried, {"eth0", "10.0.0.5", ""}).empty());
  CHECK(root_warning(tried, {"", "", ""}).empty());
  const auto warned = root_warning(tried, {"docker0", "172.17.0.1", ""});
  CHECK(warned.find("by eth0 (10.0.0.5)") != std::string::npos);
  CHECK(warned.find("of docker0 (172.17.0.1)") != std::string::npos);
  CHECK(warned.find("NCCL_SOCKET_IFNAME==eth0") != std::string::npos);
  tried.own = true;
  CHECK(root_warning(tried, {"docker0", "172.17.0.1", ""}).empty());
}

TEST_CASE("a root in one line") {
  auto tried = far_away();
  tried.outcome = "refused";
  CHECK(root_text(root_json(tried)) ==
        "node0:29500 (10.0.0.7) is reached by eth0 10.0.0.5; nobody listens at that port now, or a "
        "firewall refuses it");
  CHECK(root_json(std::nullopt).is_null());
}

// Addresses, routes and GIDs change while a job runs: pairs are judged on those of now. And judging
// that fails by itself lets nobody past the rules.
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "guard/guard.h"
#include "guard/pairs.h"
#include "made_pair.h"
#include "support/catch.h"
#include "support/recorded.h"

using namespace nnd;
using test::only;
using Json = nlohmann::json;

namespace {

constexpr const char* kRoute = R"({"dst": "10.9.0.0/16", "dev": "ens2"})";

// What the kernel says: two rails, the first one's network, and its routes.
void kernel_says(const test::TempDir& dir, const std::string& address, const std::string& routes) {
  // Another file, so that it is seen to be new however coarse its times are.
  const std::string next = dir / "next.json";
  std::ofstream(next) << fmt::format(
      R"({{"links": [{{"ifindex": 2, "name": "ens2", "addrs": ["{}"]}},
                     {{"ifindex": 3, "name": "ens3", "addrs": ["10.200.1.2/24"]}}],
          "routes": [{}]}})",
      address, routes);
  std::filesystem::rename(next, dir / "nnd-netlink.json");
}

// The node as it was found first, under a sysfs of its own.
facts::Node two_rails(const test::TempDir& dir, bool routed) {
  facts::Node node = policy::test::rails(2).node;
  node.sysfs = dir.path();
  if (routed) {
    facts::Route route;
    route.dst = facts::parse_prefix("10.9.0.0/16").value();
    route.ifindex = 2;
    node.network.routes.push_back(route);
  }
  return node;
}

template <class F>
std::vector<Json> enforced(F f) {
  const test::TempDir dir;
  config::Settings settings;
  settings.policy = dir.file("policy.toml", "mode = \"enforce\"\n");
  return test::recorded([&] {
    guard::start(settings);
    return f();
  });
}

}  // namespace

TEST_CASE("guard: a route that came after the facts were read is no reason to refuse") {
  const test::TempDir dir;
  kernel_says(dir, "10.200.0.2/24", "");
  const auto log = enforced([&] {
    guard::judge(two_rails(dir, false), {});
    if (guard::may_pair(made_pair(1, "10.9.0.3"))) return false;  // none yet
    kernel_says(dir, "10.200.0.2/24", kRoute);
    return guard::may_pair(made_pair(2, "10.9.0.3"));
  });
  CHECK(only(log, "policy.refuse").size() == 1);
}

TEST_CASE("guard: nobody need say that something changed before a pair is refused") {
  const test::TempDir dir;
  kernel_says(dir, "10.200.0.2/24", kRoute);
  const auto log = enforced([&] {
    guard::judge(two_rails(dir, false), {});  // older than what the kernel says
    return guard::may_pair(made_pair(1, "10.9.0.3"));
  });
  CHECK(only(log, "policy.refuse").empty());
}

TEST_CASE(
    "guard: of a pair that is refused the kernel is asked once, and again when it tells of a "
    "change") {
  const test::TempDir dir;
  kernel_says(dir, "10.200.0.2/24", "");
  const auto reads_while = [&dir](const auto& does) {
    const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    // Closing is told in between: the same event twice in turn would be one.
    ::inotify_add_watch(watch, (dir / "nnd-netlink.json").c_str(), IN_OPEN | IN_CLOSE_NOWRITE);
    does();
    alignas(inotify_event) char events[65536];
    const auto size = ::read(watch, events, sizeof(events));
    ::close(watch);
    return size > 0 ? static_cast<int>(size / static_cast<ssize_t>(2 * sizeof(inotify_event))) : 0;
  };
  const auto qps = [] {
    for (std::uint32_t connection = 1; connection <= 16; ++connection)
      for (int qp = 0; qp < 4; ++qp) guard::may_pair(made_pair(connection, "10.9.0.3"));
  };
  const auto log = enforced([&] {
    guard::judge(two_rails(dir, false), {});
    const int first = reads_while(qps);
    kernel_says(dir, "10.200.0.2/24", R"({"dst": "10.8.0.0/16", "dev": "ens2"})");
    return first == 1 && reads_while(qps) == 1;
  });
  CHECK(only(log, "policy.refuse").size() == 16);
}

TEST_CASE("guard: a route that went away is one") {
  const test::TempDir dir;
  kernel_says(dir, "10.200.0.2/24", kRoute);
  const auto log = enforced([&] {
    guard::judge(two_rails(dir, true), {});
    if (!guard::may_pair(made_pair(1, "10.9.0.3"))) return false;
    kernel_says(dir, "10.200.0.2/24", R"({"dst": "10.8.0.0/16", "dev": "ens2"})");
    return !guard::may_pair(made_pair(2, "10.9.0.3"));
  });
  const auto refused = only(log, "policy.refuse");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].at("conn") == 2);
  CHECK(refused[0].at("cause") == "SUB-RAIL");
}

TEST_CASE("guard: a GID that is another now is judged as it is now") {
  const test::TempDir dir;
  kernel_says(dir, "10.201.0.2/24", "");
  const auto log = enforced([&] {
    guard::judge(two_rails(dir, false), {});
    const auto with_new_gid = [](std::uint32_t connection, const char* remote) {
      state::QpInfo qp = made_pair(connection, remote);
      qp.local_gid = policy::test::raw_gid("10.201.0.2");
      return qp;
    };
    return guard::may_pair(with_new_gid(1, "10.201.0.3")) &&
           !guard::may_pair(with_new_gid(2, "10.200.0.3"));  // its neighbour before
  });
  const auto refused = only(log, "policy.refuse");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].at("cause") == "SUB-RAIL");
  CHECK(refused[0].at("msg").get<std::string>().find("10.201.0.2/24") != std::string::npos);
}

TEST_CASE("guard: judging that fails by itself refuses in enforce, and is said in warn") {
  const auto fails = []() -> std::optional<facts::Node> { throw std::runtime_error("no memory"); };
  const auto log = enforced([&] {
    guard::judge_found(fails, {});
    return guard::network_refusal() != nullptr && !guard::may_pair(made_pair(1, "10.200.0.3"));
  });
  const auto refused = only(log, "policy.refuse");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].at("fact") == "judging failed by itself: no memory");

  const auto warned = only(test::recorded([&] {
                             guard::start({});
                             guard::judge_found(fails, {});
                             guard::judge_found(fails, {});
                             return guard::network_refusal() == nullptr;
                           }),
                           "policy.warn");
  REQUIRE(warned.size() == 1);
  CHECK(warned[0].at("sev") == "warn");
  CHECK(warned[0].at("cause") == "POLICY");
  CHECK(warned[0].at("msg") ==
        "The rules were not applied, since judging failed by itself: no memory.");
}

#include "watch/unlike.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/recorded.h"

namespace peers = nnd::peers;
using nnd::watch::Unlike;

namespace {

peers::ProcessFacts usual() {
  peers::ProcessFacts out;
  out.transport = peers::Transport::kIb;
  out.nccl = 22809;
  out.qps = 1;
  out.traffic_class = 0;
  return out;
}

peers::Who who(int rank) {
  peers::Who out;
  out.proc = 100 + static_cast<std::uint64_t>(rank);
  out.rank = rank;
  out.pid = 800 + static_cast<unsigned>(rank);
  out.host = "node1";
  return out;
}

template <class F>
std::vector<nlohmann::json> told(F&& scene) {
  return nnd::test::only(nnd::test::recorded([&] {
                           Unlike unlike;
                           scene(unlike);
                         }),
                         "peer.differs");
}

}  // namespace

TEST_CASE("a thousand that differ in the same are one line, and who is alike is none") {
  const auto lines = told([](Unlike& unlike) {
    peers::ProcessFacts other = usual();
    unlike.met(usual(), {}, who(0), other);
    other.qps = 4;
    for (int rank = 1; rank < 1024; ++rank) unlike.met(usual(), {}, who(rank), other);
  });
  REQUIRE(lines.size() == 1);
  const auto& line = lines[0];
  CHECK(line.at("sev") == "warn");
  CHECK(line.at("cause") == "INC-QPS");
  CHECK(line.at("peer").at("rank") == 1);
  CHECK(line.at("peer").at("host") == "node1");
  CHECK(line.at("peer").at("pid") == 801);
  CHECK(line.at("differs") ==
        nlohmann::json::parse(R"([{"what":"NCCL_IB_QPS_PER_CONNECTION","here":"1","there":"4"}])"));
  CHECK(line.at("msg").get<std::string>().find("rank 1 of node1 (pid 801)") != std::string::npos);
  CHECK(line.at("fix").get<std::string>().find("NCCL_IB_QPS_PER_CONNECTION") != std::string::npos);
}

TEST_CASE("each cause has a line, and what may be meant a last one of its own without") {
  const auto lines = told([](Unlike& unlike) {
    peers::ProcessFacts here = usual(), there = usual();
    here.ports = 8;
    here.mtu = 4096;
    there.ports = 4;
    there.mtu = 1024;
    there.qps = 4;
    there.traffic_class = 106;
    unlike.met(here, {}, who(1), there);
  });
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].at("cause") == "INC-QPS");
  CHECK(lines[1].at("cause") == "ROCE-TC");
  CHECK(lines[2].at("sev") == "info");
  CHECK_FALSE(lines[2].contains("cause"));
  CHECK(lines[2].at("differs").size() == 2);
}

TEST_CASE("a later peer that differs in something else is told as well") {
  const auto lines = told([](Unlike& unlike) {
    peers::ProcessFacts other = usual();
    other.qps = 4;
    unlike.met(usual(), {}, who(1), other);
    other.traffic_class = 106;
    unlike.met(usual(), {}, who(2), other);
  });
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].at("differs").size() == 1);
  CHECK(lines[1].at("peer").at("rank") == 2);
}

TEST_CASE("however many say something else each time, the log has some lines of it") {
  const auto lines = told([](Unlike& unlike) {
    peers::Variables variables;
    for (std::uint32_t i = 0; i < 1000; ++i) variables[i] = {"NCCL_SOME_" + std::to_string(i), "1"};
    for (std::uint32_t i = 0; i < 1000; ++i) {
      peers::ProcessFacts liar = usual();
      liar.all_settings = false;
      liar.settings = {{i, 7}};
      unlike.met(usual(), variables, who(static_cast<int>(i)), liar);
    }
  });
  CHECK(lines.size() == 10);
}

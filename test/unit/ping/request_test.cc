#include "cli/ping/protocol.h"
#include "support/catch.h"

using namespace nnd::cli;
using nlohmann::json;

namespace {

json go() {
  return {{"do", "go"},
          {"attempt", 7},
          {"handle", std::string(256, '0')},
          {"first", true},
          {"traffic", PingTraffic{{8, 1 << 20}, 10, 20, 30}.to_json()}};
}

}  // namespace

TEST_CASE("requests are read as they are written") {
  const auto request = parse_ping_request(go());
  CHECK(request.what == PingRequest::What::kGo);
  CHECK(request.attempt == 7);
  CHECK(request.first);
  CHECK(request.handle == std::string(256, '0'));
  CHECK(request.traffic.sizes == std::vector<std::size_t>{8, 1 << 20});
  CHECK(request.traffic.stream_ms == 10);
  CHECK(request.traffic.latency_ms == 20);
  CHECK(request.traffic.deadline_ms == 30);
  CHECK(parse_ping_request({{"do", "describe"}}).what == PingRequest::What::kDescribe);
  CHECK(parse_ping_request({{"do", "prepare"}, {"attempt", 1}, {"hca", "mlx5_0:1"}, {"dev", 2}})
            .hca == "mlx5_0:1");
  CHECK(parse_ping_request({{"do", "cancel"}, {"attempt", 3}}).attempt == 3);
  CHECK(parse_ping_request({{"do", "end"}, {"why", "finished"}}).why == "finished");
  CHECK(parse_ping_request({{"do", "listen"}, {"address", "10.0.0.1"}}).address == "10.0.0.1");
  const auto places = parse_ping_request(
      {{"do", "reach"}, {"places", {{{"address", "10.0.0.2"}, {"port", "4711"}}}}});
  CHECK(places.what == PingRequest::What::kReach);
  REQUIRE(places.places.size() == 1);
  CHECK(places.places[0].port == "4711");
}

TEST_CASE("no request goes beyond the limits, whoever asks") {
  const auto with = [](const char* path, json value) {
    auto out = go();
    out[json::json_pointer(path)] = std::move(value);
    return out;
  };
  for (const json& wrong :
       {json(),
        json::array(),
        json::object(),
        json{{"do", 1}},
        json{{"do", "exec"}, {"attempt", 1}},
        json{{"do", "prepare"}, {"attempt", 1}},
        json{{"do", "end"}},
        json{{"do", "listen"}},
        json{{"do", "reach"}, {"places", "10.0.0.2"}},
        json{{"do", "reach"}, {"places", {{{"address", "10.0.0.2"}, {"port", 4711}}}}},
        json{{"do", "reach"}, {"places", {{{"address", "10.0.0.2"}, {"port", "471147"}}}}},
        json{{"do", "reach"},
             {"places", std::vector<json>(5000, {{"address", "10.0.0.2"}, {"port", "4711"}})}},
        json{{"do", "prepare"}, {"attempt", 1}, {"hca", std::string(5000, 'x')}, {"dev", 0}},
        json{{"do", "prepare"}, {"attempt", 1}, {"hca", "mlx5_0:1"}, {"dev", -1}},
        with("/attempt", 0),
        with("/attempt", -1),
        with("/attempt", 1.5),
        with("/attempt", "1"),
        with("/attempt", 18446744073709551615ULL),
        with("/handle", ""),
        with("/handle", std::string(256, 'g')),
        with("/handle", std::string(258, '0')),
        with("/first", 1),
        with("/traffic", json::array()),
        with("/traffic/sizes", json::array()),
        with("/traffic/sizes", {7}),
        with("/traffic/sizes", {kLargestPing + 1}),
        with("/traffic/sizes", {-8}),
        with("/traffic/sizes", json(std::vector<int>(17, 8))),
        with("/traffic/stream_ms", 0),
        with("/traffic/stream_ms", 60001),
        with("/traffic/latency_ms", -1),
        with("/traffic/deadline_ms", 600001)}) {
    INFO(wrong.dump());
    CHECK_THROWS_AS(parse_ping_request(wrong), BadMessage);
  }
}

TEST_CASE("another host's handle brings no state and no pointer of NCCL's connect") {
  auto hostile = go();
  hostile["handle"] = std::string(256, 'a');
  const auto taken = parse_ping_request(hostile).handle;
  CHECK(taken == std::string(80, 'a') + std::string(48, '0') + std::string(128, 'a'));
}

TEST_CASE("what is in flight never needs more than its memory") {
  const PingTraffic traffic;
  for (const std::size_t size : {std::size_t{8}, std::size_t{1} << 20, kLargestPing}) {
    CHECK(traffic.window(size) >= 2);
    CHECK(traffic.window(size) * size <= std::size_t{128} << 20);
  }
}

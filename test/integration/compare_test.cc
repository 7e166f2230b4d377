// The shim off and on, call by call: same devices, same properties, same data, same return codes,
// on success and with every fault.
#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

constexpr int kShortMs = 2500;

// Everything that both ranks called and got, in order per object; "polls" is chance.
json run(const driver::Transport& transport, const std::string& scenario) {
  EmulatedJob job(scenario, 2,
                  {{"NCCL_IB_MQP_RETRY_CNT", "1"}, {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"}});
  json out;
  try {
    out["setup"] = job->setup(transport);
    for (auto& rank : out["setup"]) {
      out["properties"].push_back(rank["properties"]);
      out["null_slots"].push_back(rank["init"]["null_slots"]);
    }
  } catch (const std::exception&) {
    out["setup"] = "failed";  // the trace says where
  }
  if (out["setup"] != "failed") {
    out["setup"] = nullptr;
    // One after the other, so that the numbers of connections are the same each time.
    for (auto& link : job->ring(2)) {
      job->try_open(link, kShortMs);
      if (link.send_conn == 0 || link.recv_conn == 0) break;
      driver::Traffic traffic;
      traffic.sizes = {0, 1, 70001, 1 << 18};
      traffic.offset = 5;
      traffic.flush = true;
      traffic.window = 1;  // with more in flight the order of posting and testing is chance
      const auto moved = job->try_move(link, traffic, kShortMs);
      if (moved["send"]["rc"] != 0 || moved["recv"]["rc"] != 0) break;
      std::vector<driver::Link> one{link};
      job->close(one);
    }
  }
  for (int rank = 0; rank < 2; ++rank) {
    json by_object;
    auto trace = job->rank(rank).run({{"op", "trace"}});
    for (auto& call : trace["calls"]) {
      call.erase("polls");
      by_object[call["object"].get<std::string>()].push_back(call);
    }
    out["calls"].push_back(by_object);
  }
  return out;
}

std::string fault(const std::string& lines) { return "[[fault]]\n" + lines + "\n"; }

}  // namespace

TEST_CASE("off and on, nine HCAs are the same devices") {
  const auto off = run(builtin(), "two-nodes-8-hca-bond.toml");
  const auto on = run(shim(), "two-nodes-8-hca-bond.toml");
  CHECK(off["properties"][0].size() == 9);
  CHECK(off["calls"][0].size() > 10);
  CHECK(json::diff(off, on) == json::array());
}

TEST_CASE("off and on, every fault ends the same way") {
  const auto faults = GENERATE(
      std::string(), fault("kind = \"refuse-rtr\"\nhost = \"node0\"\nerrno = \"ETIMEDOUT\""),
      fault("kind = \"refuse-rtr\"\nhost = \"node1\"\nerrno = \"ETIMEDOUT\""),
      fault("kind = \"refuse-rtr\"\nhost = \"node1\"\nerrno = \"EINVAL\""),
      fault("kind = \"refuse-rtr\"\nhost = \"node1\"\nerrno = \"ETIMEDOUT\"\ntimes = 1"),
      fault("kind = \"fail-wr\"\nhost = \"node0\"\nnth = 2\nstatus = \"RETRY_EXC_ERR\""),
      fault("kind = \"fail-wr\"\nhost = \"node0\"\nnth = 2\nstatus = \"LOC_PROT_ERR\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_open_device\"\nerrno = "
            "\"EIO\"\ntimes = 0"),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_open_device\"\nerrno = \"EIO\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_query_device\"\nerrno = "
            "\"EIO\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_query_port\"\nerrno = \"EIO\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_query_gid\"\nerrno = \"EIO\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_alloc_pd\"\nerrno = \"ENOMEM\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_alloc_pd\"\nnth = 2\nerrno = "
            "\"ENOMEM\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_create_cq\"\nerrno = \"ENOMEM\""),
      fault("kind = \"fail-call\"\nhost = \"node1\"\nverb = \"ibv_create_qp\"\nerrno = \"ENOMEM\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_reg_mr\"\nerrno = \"ENOMEM\""),
      fault("kind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_post_send\"\nerrno = \"EIO\""));
  CAPTURE(faults);
  const auto off = run(builtin(), two_hosts(faults));
  const auto on = run(shim(), two_hosts(faults));
  CHECK(!off["calls"][0].empty());
  CHECK(json::diff(off, on) == json::array());
}

#include "facts/counters.h"

#include <nlohmann/json.hpp>

#include "context/clock.h"
#include "record/pack.h"
#include "support/catch.h"
#include "support/forked.h"
#include "tree.h"

using namespace nnd::facts;
using namespace nnd::facts::test;
using nlohmann::json;

namespace {

const std::string kMlx5 = "class/infiniband/mlx5_0/ports/2/";
const std::string kRxe = "class/infiniband/rxe0/ports/1/";

// What two drivers show, before and after some traffic.
void show_before(Tree& tree) {
  tree.write(kMlx5 + "counters/port_xmit_data", "18446744073\n")
      .write(kMlx5 + "counters/symbol_error", "4294967295\n")
      .write(kMlx5 + "counters/VL15_dropped", "N/A (no PMA)\n")
      .write(kMlx5 + "hw_counters/lifespan", "10\n")
      .write(kMlx5 + "hw_counters/local_ack_timeout_err", "7\n")
      .write(kMlx5 + "hw_counters/out_of_sequence", "100\n")
      .write(kRxe + "hw_counters/sent_pkts", "1000\n")
      .write(kRxe + "hw_counters/retry_exceeded_err", "0\n");
}

void show_after(Tree& tree) {
  tree.write(kMlx5 + "counters/port_xmit_data", "18446744083\n")
      .write(kMlx5 + "hw_counters/lifespan", "12\n")
      .write(kMlx5 + "hw_counters/local_ack_timeout_err", "91323\n")
      .write(kMlx5 + "hw_counters/out_of_sequence", "3\n")
      .write(kMlx5 + "hw_counters/came_later", "5\n")
      .write(kRxe + "hw_counters/sent_pkts", "1002\n");
}

json told() {
  nnd::record::Pack fields;
  add_counters(fields);
  return json::from_msgpack(fields.finish())["counters"];
}

}  // namespace

TEST_CASE("Ports tell by how much their counters have grown since they were first read") {
  Tree tree;
  show_before(tree);
  count_port("mlx5_0", 2);  // too early: nobody said where sysfs is
  watch_counters(tree.root());
  CHECK(counted_ports().empty());
  count_port("mlx5_0", 2);
  count_port("rxe0", 1);
  count_port("absent", 1);
  CHECK(counted("mlx5_0", 2).empty());  // nothing was read yet
  CHECK_FALSE(grown_since("mlx5_0", 2, 0));
  sample_counters();
  show_after(tree);
  count_port("mlx5_0", 2);  // the first time counts
  CHECK(counted("mlx5_0", 2).empty());
  sample_counters();

  const Counts grown = {{"local_ack_timeout_err", 91316}, {"port_xmit_data", 10}};
  CHECK(counted("mlx5_0", 2) == grown);
  CHECK(counted("mlx5_0", 1).empty());
  CHECK(counted("absent", 1).empty());
  CHECK_FALSE(counters_being_read());
  CHECK(nnd::test::holds_in_child([] {
    count_port("rxe0", 1);  // from its own beginning
    sample_counters();
    return counted("rxe0", 1).empty() && counted("mlx5_0", 2).empty();
  }));
  CHECK(told() == json::parse(R"([{"name": "absent", "port": 1, "grown": {}},
                        {"name": "mlx5_0", "port": 2,
                         "grown": {"local_ack_timeout_err": 91316, "port_xmit_data": 10}},
                        {"name": "rxe0", "port": 1, "grown": {"sent_pkts": 2}}])"));
}

TEST_CASE("What a port has counted since a time is told from the sample before it") {
  CHECK(nnd::test::holds_in_child([] {
    Tree tree;
    const auto sample = [&](const char* value) {
      tree.write(kRxe + "hw_counters/rcvd_seq_err", value);
      sample_counters();
      return nnd::context::mono_ns();
    };
    watch_counters(tree.root());
    count_port("rxe0", 1);
    sample("1\n");
    const std::uint64_t second = sample("10\n");
    sample("100\n");
    const auto all = grown_since("rxe0", 1, 0);
    const auto late = grown_since("rxe0", 1, second);
    return all && all->counts == Counts{{"rcvd_seq_err", 99}} && late &&
           late->counts == Counts{{"rcvd_seq_err", 90}} && late->sec < all->sec;
  }));
}

TEST_CASE("What a counter counts is told by its name, whatever the driver calls it") {
  const std::pair<const char*, Counter> rows[] = {
      {"local_ack_timeout_err", Counter::kTimeout},  // mlx5
      {"packet_seq_err", Counter::kLoss},
      {"out_of_sequence", Counter::kReordered},
      {"rp_cnp_handled", Counter::kCongestion},
      {"np_ecn_marked_roce_packets", Counter::kCongestion},
      {"rx_icrc_encapsulated", Counter::kLink},
      {"roce_adp_retrans", Counter::kLoss},
      {"roce_adp_retrans_to", Counter::kTimeout},
      {"port_xmit_packets", Counter::kPackets},
      {"symbol_error", Counter::kLink},
      {"link_error_recovery", Counter::kLink},
      {"port_xmit_wait", Counter::kCongestion},
      {"port_xmit_data", Counter::kOther},
      {"to_retransmits", Counter::kTimeout},  // bnxt_re
      {"seq_err_naks_rcvd", Counter::kLoss},
      {"rx_ecn_marked_pkts", Counter::kCongestion},
      {"cnpHandled", Counter::kCongestion},  // irdma
      {"tcpRetransSegs", Counter::kLoss},
      {"retrans_timeout_events", Counter::kTimeout},  // efa
      {"unresponsive_remote_events", Counter::kTimeout},
      {"retrans_pkts", Counter::kLoss},
      {"req_rx_pkt_seq_err", Counter::kLoss},  // ionic
      {"sent_pkts", Counter::kPackets},        // rxe
      {"out_of_seq_request", Counter::kReordered},
      {"retry_exceeded_err", Counter::kTimeout},
      {"duplicate_request", Counter::kOther},
      {"rx_prio3_pause", Counter::kCongestion},  // of interfaces: mlx5
      {"tx_pause_storm_error_events", Counter::kCongestion},
      {"rx_pfc_ena_frames_pri3", Counter::kCongestion},  // bnxt
      {"rx_priority_3_xoff.nic", Counter::kCongestion},  // ice
      {"frames_rx_pripause", Counter::kCongestion}};     // ionic
  for (const auto& [name, kind] : rows) {
    INFO(name);
    CHECK(kind_of_counter(name) == kind);
  }
}

TEST_CASE("Pause frames are counted by the port's own interface, and nothing else of it is told") {
  CHECK(nnd::test::holds_in_child([] {
    Tree tree;
    const auto count = [&](const char* pauses) {
      tree.write("class/infiniband/mlx5_0/ports/1/hw_counters/rp_cnp_handled", "5\n");
      tree.write("class/infiniband/mlx5_0/device/net/ens2/dev_port", "0\n");
      tree.write("class/infiniband/mlx5_0/device/net/ens3/dev_port", "1\n");
      for (const std::string netdev : {"ens2", "ens3"})
        for (const std::string name : {"rx_prio3_pause", "rx_bytes"})
          tree.write("nnd-ethtool/" + netdev + "/" + name, netdev == "ens2" ? pauses : "7000\n");
      sample_counters();
    };
    watch_counters(tree.root());
    count_port("mlx5_0", 1);
    count("10\n");
    count("52\n");
    return counted("mlx5_0", 1) == Counts{{"rx_prio3_pause", 42}};
  }));
}

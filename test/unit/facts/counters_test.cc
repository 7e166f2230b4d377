#include "facts/counters.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "record/recorder.h"
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

json summary_of(const std::string& path) {
  json last;
  std::ifstream log(path);
  for (std::string line; std::getline(log, line);) last = json::parse(line);
  return last;
}

}  // namespace

TEST_CASE("Ports tell by how much their counters have grown since they were first used") {
  Tree tree;
  show_before(tree);
  nnd::config::Settings settings;
  settings.file = tree.root() + "/log.jsonl";
  nnd::record::start(settings);
  count_port("mlx5_0", 2);  // too early: nobody said where sysfs is
  watch_counters(tree.root());
  CHECK(counted("mlx5_0", 2).empty());
  count_port("mlx5_0", 2);
  count_port("rxe0", 1);
  count_port("absent", 1);
  show_after(tree);
  count_port("mlx5_0", 2);  // the first time counts

  const Counts grown = {{"local_ack_timeout_err", 91316}, {"port_xmit_data", 10}};
  CHECK(counted("mlx5_0", 2) == grown);
  CHECK(counted("mlx5_0", 1).empty());
  CHECK(counted("absent", 1).empty());
  CHECK(nnd::test::holds_in_child([] {
    count_port("rxe0", 1);  // from its own beginning
    return counted("rxe0", 1).empty() && counted("mlx5_0", 2).empty();
  }));

  nnd::record::stop();
  CHECK(summary_of(settings.file)["counters"] ==
        json::parse(R"([{"name": "absent", "port": 1, "grown": {}},
                        {"name": "mlx5_0", "port": 2,
                         "grown": {"local_ack_timeout_err": 91316, "port_xmit_data": 10}},
                        {"name": "rxe0", "port": 1, "grown": {"sent_pkts": 2}}])"));
}

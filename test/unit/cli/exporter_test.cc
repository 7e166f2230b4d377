// What looks at made boxes become as metrics.
#include <map>
#include <sstream>
#include <string>

#include "cli/exporter/exposition.h"
#include "cli/exporter/metrics.h"
#include "cli/exporter/totals.h"
#include "support/catch.h"
#include "top_made.h"

namespace nnd::cli {

namespace {

using namespace nnd::test;

// Of a process of job 4711's.
SeenProcess rank_of(int rank, double alive, const std::vector<MadeConnection>& conns) {
  auto out = with_rank(made_process(100 + rank, alive, conns), rank, 2);
  out.launch->launcher = "slurm";
  out.launch->job = "4711";
  return out;
}

class Node {
 public:
  // The samples, by name and labels as they are written.
  std::map<std::string, double> look(double now, std::vector<SeenProcess> processes) {
    auto look = made_look(now, std::move(processes));
    look.real_ns = at(1000 + now);
    const View view = tracker_.see(look);
    totals_.add(view.processes);
    families = metrics_of(view, totals_);
    text = exposition(families, TextFormat::kPrometheus);
    std::map<std::string, double> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (line[0] != '#') {
        const auto space = line.rfind(' ');
        const bool is_new =
            out.emplace(line.substr(0, space), std::stod(line.substr(space))).second;
        CHECK(is_new);  // a series that is there twice fails the whole scrape
      }
    return out;
  }
  Families families;
  std::string text;

 private:
  Tracker tracker_{0};
  Totals totals_;
};

std::string series(const std::string& name, int rank, const std::string& more,
                   const std::string& device = "mlx5_0") {
  return name + "{hpc_job=\"4711\",rank=\"" + std::to_string(rank) + "\",device=\"" + device +
         "\",port=\"1\"," + more + "}";
}
const std::string kSends = "direction=\"transmit\"", kReceives = "direction=\"receive\"";

}  // namespace

TEST_CASE("connections of a rank over a port are one series", "[exporter]") {
  Node node;
  const auto seen =
      node.look(1, {rank_of(0, 1,
                            {{.conn = 1, .started = 12, .completed = 10, .bytes = 1000},
                             {.conn = 2, .started = 5, .completed = 5, .failed = 0, .bytes = 500},
                             {.conn = 3, .kind = "recv", .started = 3, .completed = 3, .bytes = 7},
                             {.conn = 4, .stage = "init"},
                             {.conn = 5, .device = "mlx5_1", .started = 1, .failed = 1}})});
  CHECK(seen.at(series("nccl_net_diag_bytes_total", 0, kSends)) == 1500);
  CHECK(seen.at(series("nccl_net_diag_bytes_total", 0, kReceives)) == 7);
  CHECK(seen.at(series("nccl_net_diag_requests_total", 0, kSends)) == 15);
  CHECK(seen.at(series("nccl_net_diag_requests_in_flight", 0, kSends)) == 2);
  CHECK(seen.at(series("nccl_net_diag_connections", 0, kSends + ",stage=\"ready\"")) == 2);
  CHECK(seen.at(series("nccl_net_diag_connections", 0, kSends + ",stage=\"making\"")) == 1);
  CHECK(seen.at(series("nccl_net_diag_connections", 0, kSends + ",stage=\"failed\"", "mlx5_1")) ==
        1);
  CHECK(seen.at(series("nccl_net_diag_failed_requests_total", 0, kSends, "mlx5_1")) == 1);
  CHECK(seen.at("nccl_net_diag_processes{hpc_job=\"4711\"}") == 1);
  CHECK(seen.at("nccl_net_diag_unread_boxes") == 0);
  CHECK(seen.at("nccl_net_diag_last_sign_of_life_timestamp_seconds{hpc_job=\"4711\",rank=\"0\"}") ==
        1001);
}

TEST_CASE("a counter does not fall when connections or processes end", "[exporter]") {
  Node node;
  const std::string bytes = series("nccl_net_diag_bytes_total", 0, kSends);
  const MadeConnection one{.conn = 1, .started = 1, .completed = 1, .bytes = 100};
  const MadeConnection two{.conn = 2, .started = 1, .completed = 1, .bytes = 10};
  const auto other = rank_of(1, 1, {one});
  CHECK(node.look(1, {rank_of(0, 1, {one, two}), other}).at(bytes) == 110);
  CHECK(node.look(2, {rank_of(0, 2, {two}), other}).at(bytes) == 110);  // torn, or closed
  CHECK(node.look(3, {rank_of(0, 3, {two}), other}).at(bytes) == 110);
  MadeConnection more = two;
  more.bytes = 15;
  CHECK(node.look(4, {rank_of(0, 4, {more}), other}).at(bytes) == 115);
  // A restart goes on under the same number.
  auto next = rank_of(0, 5, {one});
  next.header.proc_id += 1000;
  CHECK(node.look(5, {next, other}).at(bytes) == 215);
  SECTION("a job that has ended is forgotten") {
    const auto rest = node.look(6, {});
    CHECK_FALSE(rest.contains(bytes));
    CHECK(rest.at("nccl_net_diag_processes{hpc_job=\"\"}") == 0);
  }
}

TEST_CASE("what waits for long is a stall, and a short wait is none", "[exporter]") {
  Node node;
  const std::string data = series("nccl_net_diag_stall_seconds", 0, kReceives + ",kind=\"data\"");
  const auto waits = [](double now) {
    return rank_of(
        0, now,
        {{.conn = 1, .kind = "recv", .started = 2, .completed = 1, .posted = 1, .done = 0.5}});
  };
  node.look(1, {waits(1)});
  CHECK(node.look(6, {waits(6)}).at(data) == 0);
  CHECK(node.look(21, {waits(21)}).at(data) == Approx(20));
}

TEST_CASE("latencies are cumulative", "[exporter]") {
  auto process = rank_of(0, 1, {{.conn = 1, .started = 7, .completed = 7}});
  process.conns[0].latency[0] = 1;   // below the first bound
  process.conns[0].latency[11] = 2;  // [2.048, 4.096) us
  process.conns[0].latency[39] = 4;  // all above
  Node node;
  const auto seen = node.look(1, {process});
  const std::string bucket =
      "nccl_net_diag_send_latency_seconds_bucket{hpc_job=\"4711\",device=\"mlx5_0\",port=\"1\",le=";
  CHECK(seen.at(bucket + "\"1.024e-06\"}") == 1);
  CHECK(seen.at(bucket + "\"4.096e-06\"}") == 3);
  CHECK(seen.at(bucket + "\"17.179869184\"}") == 3);
  CHECK(seen.at(bucket + "\"+Inf\"}") == 7);
  CHECK(seen.at("nccl_net_diag_send_latency_seconds_count{hpc_job=\"4711\",device=\"mlx5_0\","
                "port=\"1\"}") == 7);
}

TEST_CASE("as OpenMetrics it is the same samples, of families that it knows", "[exporter]") {
  auto process = rank_of(0, 1, {{.conn = 1, .started = 7, .completed = 7}});
  process.conns[0].latency[11] = 2;
  Node node;
  auto seen = node.look(1, {process});
  const std::string text = exposition(node.families, TextFormat::kOpenMetrics);
  CHECK(text.ends_with("\n# EOF\n"));
  std::string family;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.rfind(' ') - 7);
      const std::string type = line.substr(line.rfind(' ') + 1);
      if (type == "counter") CHECK_FALSE(family.ends_with("_total"));
      if (type == "info") CHECK_FALSE(family.ends_with("_info"));
    }
    if (line[0] == '#') continue;
    CHECK(line.starts_with(family));
    const auto space = line.rfind(' ');
    const auto found = seen.find(line.substr(0, space));
    REQUIRE(found != seen.end());
    CHECK(found->second == std::stod(line.substr(space)));
    seen.erase(found);
  }
  // What is left is what it has beside a sum alone.
  for (const auto& [name, value] : seen)
    CHECK(name.starts_with("nccl_net_diag_send_latency_seconds_count"));
  CHECK(seen.size() == 1);
  CHECK(text.find("# TYPE nccl_net_diag info\n") != std::string::npos);
  CHECK(text.find("# TYPE nccl_net_diag_bytes counter\n") != std::string::npos);
}

TEST_CASE("the number of series has a bound, and words of a job break no line", "[exporter]") {
  std::vector<MadeConnection> conns;
  for (std::uint32_t i = 0; i < 200; ++i)
    conns.push_back({.conn = i + 1, .device = "mlx5_" + std::to_string(i)});
  auto process = rank_of(0, 1, conns);
  process.launch->job = "a\"b\\c\n" + std::string(1000, 'x');
  Node node;
  const auto seen = node.look(1, {process});
  std::size_t ports = 0;
  for (const auto& [name, value] : seen) ports += name.starts_with("nccl_net_diag_bytes_total");
  CHECK(ports == kMostPorts + 1);
  CHECK(node.text.find("hpc_job=\"a\\\"b\\\\c\\nxxx") != std::string::npos);
  CHECK(node.text.find(std::string(100, 'x')) == std::string::npos);
}

}  // namespace nnd::cli

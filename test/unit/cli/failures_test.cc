// What the exporter counts of the logs of processes that come, go and lie.
#include "cli/exporter/failures.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "cli/exporter/exposition.h"
#include "cli/top/view.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "top_made.h"

namespace nnd::cli {

namespace {

using namespace nnd::test;

std::string line(const std::string& severity, const std::string& more) {
  return R"({"v":1,"seq":0,"ts":"2026-03-01T14:02:11.000000Z","t_ns":1,"ev":"conn.fail","sev":")" +
         severity + R"(","proc":"0x1","host":"node0","pid":1)" + more + "}\n";
}

std::string told(const std::string& severity, const std::string& cause, int failure = 0,
                 const std::string& device = "mlx5_0") {
  return line(severity, R"(,"cause":")" + cause + R"(","dev":{"name":")" + device +
                            R"(","port":1})" +
                            (failure != 0 ? ",\"failure\":" + std::to_string(failure) : ""));
}

// A process of job 4711's whose log is in a file of ours; /proc has this program for it.
class Job {
 public:
  explicit Job(const std::string& name = "0.jsonl") : log_((dir_.path() / name).string()) {}

  void writes(const std::string& text) { std::ofstream(log_, std::ios::app) << text; }
  SeenProcess process(int rank = 0) const {
    auto out = with_rank(made_process(::getpid(), 1, {}), rank, 2);
    out.launch->launcher = "slurm";
    out.launch->job = "4711";
    out.user = ::getuid();
    put(out.header.log_path, log_);
    return out;
  }
  const std::string& log() const { return log_; }

 private:
  TempDir dir_;
  std::string log_;
};

class Node {
 public:
  // The samples, by their labels as they are written.
  std::map<std::string, double> look(double now, const std::vector<SeenProcess>& processes) {
    const auto look = made_look(now, processes);
    const View view = tracker_.see(look);
    failures_.look(look.processes, view.processes, look.mono_ns);
    std::map<std::string, double> out;
    const Families families = failures_.families();
    for (const Sample& sample : families[0].samples) {
      std::string name;
      for (const char* const label : {"rank", "device", "port", "cause", "severity"})
        for (const auto& [key, value] : sample.labels)
          if (key == label) name += (name.empty() ? "" : " ") + value;
      out[name] = sample.value;
    }
    unread = families[1].samples[0].value;
    return out;
  }

  double unread = 0;

 private:
  Tracker tracker_{0};
  Failures failures_;
};

using Samples = std::map<std::string, double>;

}  // namespace

TEST_CASE("a failure counts once, however many events tell of it", "[exporter]") {
  Job job;
  Node node;
  job.writes(line("info", "") + told("info", "DEV-DOWN") + told("warn", "DEV-BOND", 0, "mlx5_b"));
  const Samples warned{{"0 mlx5_b 1 DEV-BOND warn", 1}};
  CHECK(node.look(1, {job.process()}) == warned);
  CHECK(node.look(2, {job.process()}) == warned);
  job.writes(told("error", "WC-12", 7) + told("error", "WC-12", 7) + told("error", "WC-12", 8));
  const auto seen = node.look(3, {job.process()});
  CHECK(seen.at("0 mlx5_0 1 WC-12 error") == 2);
  CHECK(node.unread == 0);
}

TEST_CASE("a warning that fails later is both", "[exporter]") {
  Job job;
  Node node;
  job.writes(told("warn", "SUB-RAIL", 1) + told("warn", "SUB-RAIL", 1) +
             told("error", "SUB-RAIL", 1));
  CHECK(node.look(1, {job.process()}) ==
        Samples{{"0 mlx5_0 1 SUB-RAIL error", 1}, {"0 mlx5_0 1 SUB-RAIL warn", 1}});
}

TEST_CASE("a line that is half there is read when it is whole", "[exporter]") {
  Job job;
  Node node;
  const std::string whole = told("error", "QP-110", 1);
  job.writes(whole.substr(0, 50));
  CHECK(node.look(1, {job.process()}).empty());
  job.writes(whole.substr(50));
  CHECK(node.look(2, {job.process()}).size() == 1);
}

TEST_CASE("what a process wrote last counts when it is gone, for ten minutes", "[exporter]") {
  Job job;
  Node node;
  job.writes(line("info", ""));
  CHECK(node.look(1, {job.process()}).empty());
  job.writes(told("error", "QP-110", 1));
  const Samples failed{{"0 mlx5_0 1 QP-110 error", 1}};
  CHECK(node.look(2, {}) == failed);
  CHECK(node.look(3, {job.process()}) == failed);  // it had only been missed
  job.writes(told("error", "QP-110", 2));
  CHECK(node.look(4, {job.process()}).at("0 mlx5_0 1 QP-110 error") == 2);
  CHECK(node.look(600, {}).at("0 mlx5_0 1 QP-110 error") == 2);
  CHECK(node.look(605, {}).empty());
}

TEST_CASE("a log that can't be read is said to be", "[exporter]") {
  Job job;
  Node node;
  CHECK(node.look(1, {job.process()}).empty());
  CHECK(node.unread == 1);
  job.writes(told("error", "QP-110", 1));
  CHECK(node.look(2, {job.process()}).size() == 1);
  CHECK(node.unread == 0);
  SECTION("another user's is not believed") {
    auto other = job.process();
    other.user += 1;
    other.header.proc_id += 1;
    CHECK(node.look(3, {other}).size() == 1);
    CHECK(node.unread == 1);
  }
  SECTION("a process without one") {
    auto other = job.process();
    other.header.proc_id += 1;
    put(other.header.log_path, "");
    node.look(3, {other});
    CHECK(node.unread == 1);
    node.look(4, {});
    CHECK(node.unread == 0);
  }
  SECTION("a directory") {
    auto other = job.process();
    other.header.proc_id += 1;
    put(other.header.log_path, std::filesystem::path(job.log()).parent_path().string());
    node.look(3, {other});
    CHECK(node.unread == 1);
  }
}

TEST_CASE("no log makes more series than there is room for", "[exporter]") {
  Job job;
  Node node;
  for (int i = 0; i < 10'000; ++i)
    job.writes(told("error", "WC-12", i + 1, "mlx5_" + std::to_string(i)));
  job.writes(told("error", "no cause of ours", 20'000) +
             told("error", "WC-12", 20'001, std::string(500, 'x')) + "no line of ours\n");
  const auto seen = node.look(1, {job.process()});
  CHECK(seen.size() == Failures::kMostKinds + 1);
  double all = 0;
  for (const auto& [name, value] : seen) all += value;
  CHECK(all == 10'002);
  CHECK(seen.at("0 other  other error") == 10'002 - Failures::kMostKinds);
}

TEST_CASE("names from a log are words", "[exporter]") {
  Job job;
  Node node;
  job.writes(told("error", "no cause", 1, "a b\\n\\\"c"));
  CHECK(node.look(1, {job.process()}) == Samples{{"0 a?b??c 1 other error", 1}});
}

}  // namespace nnd::cli

// A whole NCCL job (softcuda: no GPU) on the emulated fabric: without the shim, with it, with it
// and the channel between the processes, and with it and every event logged. The four jobs live at
// the same time and take turns, a few milliseconds each, so that a round compares what the machine
// did at nearly the same moment.
//   bench_job LIBNCCL SCENARIO ROUNDS    prints JSON: {"all_reduce": {"8388608": {"off": {"ns":
//   [...], "cpu_ns": [...]}, "on": ..., "all": ...}, "8": ...}, "sendrecv": ...}
// Each figure is one round's, for one operation of many in a row: the time, and the processors'
// time of both ranks with all their threads.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "compare.h"
#include "softcuda/fabric_job.h"
#include "softcuda/job.h"

namespace {

using nlohmann::json;
using softcuda::Action;
using softcuda::Collective;
using Kind = Action::Kind;

constexpr std::array<const char*, 4> kModes = {"off", "on", "peers", "all"};
constexpr std::size_t kRanks = 2;

struct Batch {
  Collective collective;
  std::size_t bytes;
  int in_a_row;
};
constexpr std::array kBatches = {
    Batch{Collective::kAllReduce, 8, 100}, Batch{Collective::kAllReduce, 8 << 20, 4},
    Batch{Collective::kSendRecv, 8, 100}, Batch{Collective::kSendRecv, 8 << 20, 4}};

// Whose turn it is. In each round every batch is done by the four jobs one after the other, in
// another order each time: what one leaves behind for its neighbour hits all alike.
class Turns {
 public:
  explicit Turns(int rounds) {
    std::array<std::size_t, kModes.size()> order{};
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < rounds; ++round)
      for (std::size_t batch = 0; batch < kBatches.size(); ++batch) {
        order_.insert(order_.end(), order.begin(), order.end());
        std::next_permutation(order.begin(), order.end());
      }
  }

  // Blocks until it is this job's turn, or the jobs are over.
  void wait(std::size_t mode) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ >= order_.size() || order_[next_] == mode; });
  }
  void done() {
    const std::lock_guard lock(mutex_);
    ++next_;
    changed_.notify_all();
  }
  // A job failed, or is at its end: nobody has to wait any more.
  void end() {
    const std::lock_guard lock(mutex_);
    next_ = order_.size();
    changed_.notify_all();
  }

 private:
  std::vector<std::size_t> order_;  // indices of kModes
  std::size_t next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

softcuda::JobSpec job(const bench::Arguments& arguments, const std::string& mode,
                      const std::filesystem::path& dir) {
  softcuda::JobSpec spec;
  spec.nccl = arguments.nccl;
  spec.inherit_nccl_settings = false;
  spec.deadline_sec = 900;
  spec.grace_sec = 5;
  softcuda::put_on_fabric(spec, softverbs::load_scenario(arguments.scenario), dir);
  spec.environment["NCCL_NET_DIAG_FILE"] = (dir / "%p.jsonl").string();
  if (mode != "off") {
    spec.environment["NCCL_NET_PLUGIN"] = nnd::emulated::plugin_file().string();
    spec.environment["NCCL_NET_PLUGIN_REF_COUNT"] = "1";
  }
  if (mode == "peers") spec.environment["NCCL_NET_DIAG_PEERS"] = "on";
  if (mode == "all") spec.environment["NCCL_NET_DIAG_EVENTS"] = "*";
  spec.actions.push_back({.kind = Kind::kCreate});
  for (int round = 0; round < 1 + arguments.rounds; ++round)  // the first connects
    for (const Batch& batch : kBatches) {
      spec.actions.push_back({.kind = Kind::kCollective,
                              .collective = batch.collective,
                              .bytes = batch.bytes,
                              .iterations = batch.in_a_row,
                              .in_a_row = true});
      spec.actions.push_back({.kind = Kind::kMeet});
    }
  spec.actions.push_back({.kind = Kind::kDestroy});
  return spec;
}

// A job's own thread. run_job lets the ranks go on from their meeting after this has returned for
// what they reported before it: whose turn it is not is kept there.
void run(const bench::Arguments& arguments, std::size_t mode, Turns& turns, json& measured) {
  const std::string name = kModes[mode];
  const auto dir = arguments.dir / name;
  std::filesystem::create_directories(dir);
  std::size_t reports = 0;
  double cpu_ms = 0;
  const auto keep = [&](const json& event) {
    if (event.at("event") != "collective") return;
    cpu_ms += event.at("cpu_ms").get<double>();
    json& to = measured[event.at("collective").get<std::string>()]
                       [std::to_string(event.at("bytes").get<int>())][name];
    const double operations = event.at("iterations"), ns = 1e6 / operations;
    const bool counts = reports >= kRanks * kBatches.size();
    if (counts && event.at("rank") == 0) to["ns"].push_back(event.at("ms").get<double>() * ns);
    if (++reports % kRanks != 0) return;
    if (counts) {
      to["cpu_ns"].push_back(cpu_ms * ns);
      turns.done();
    }
    cpu_ms = 0;
    if (reports >= kRanks * kBatches.size()) turns.wait(mode);
  };
  const auto result = softcuda::run_job(job(arguments, name, dir), keep);
  if (!result.ok()) throw std::runtime_error(name + ": " + to_json(result).dump());
  const auto logs = std::count_if(
      std::filesystem::directory_iterator(dir), std::filesystem::directory_iterator(),
      [](const auto& entry) {  // not those of a full log's last lines
        return entry.path().extension() == ".jsonl" && !entry.path().stem().has_extension();
      });
  if (logs != (name == "off" ? 0 : static_cast<long>(kRanks)))
    throw std::runtime_error(name + ": not carried as meant");
}

json measure(const bench::Arguments& arguments) {
  Turns turns(arguments.rounds);
  std::array<json, kModes.size()> measured;
  std::array<std::exception_ptr, kModes.size()> failed;
  std::vector<std::thread> jobs;
  for (std::size_t mode = 0; mode < kModes.size(); ++mode)
    jobs.emplace_back([&, mode] {
      try {
        run(arguments, mode, turns, measured[mode]);
      } catch (...) {
        failed[mode] = std::current_exception();
        turns.end();
      }
    });
  for (std::thread& thread : jobs) thread.join();
  for (const auto& failure : failed)
    if (failure) std::rethrow_exception(failure);
  json all;
  for (const json& of : measured) all.merge_patch(of);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = softcuda::run_as_rank()) return *status;
  return bench::compare(argc, argv, measure);
}

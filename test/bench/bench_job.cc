// A whole NCCL job (softcuda: no GPU) on the emulated fabric: without the shim, with it, and with
// it and every event logged, by turns.
//   bench_job LIBNCCL SCENARIO ROUNDS    prints JSON: {"all_reduce": {"8388608": {"off": [ns...],
//   "on": [ns...], "all": [ns...]}, "8": ...}, "sendrecv": ...}
// A time is that of one operation of many in a row, the median of a job's repetitions; one job a
// round.
#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <vector>

#include "compare.h"
#include "softcuda/fabric_job.h"
#include "softcuda/job.h"

namespace {

using nlohmann::json;
using softcuda::Action;
using softcuda::Collective;
using Kind = Action::Kind;

constexpr int kRepetitions = 5;
constexpr std::array<const char*, 3> kModes = {"off", "on", "all"};

struct Case {
  std::size_t bytes;
  int in_a_row;
};
constexpr std::array kCases = {Case{8, 50}, Case{8 << 20, 4}};

softcuda::JobSpec job(const bench::Arguments& arguments, const std::string& mode,
                      const std::filesystem::path& dir) {
  softcuda::JobSpec spec;
  spec.nccl = arguments.nccl;
  spec.inherit_nccl_settings = false;
  spec.deadline_sec = 300;
  spec.grace_sec = 5;
  softcuda::put_on_fabric(spec, softverbs::load_scenario(arguments.scenario), dir);
  spec.environment["NCCL_NET_DIAG_FILE"] = (dir / "%p.jsonl").string();
  if (mode != "off") {
    spec.environment["NCCL_NET_PLUGIN"] = nnd::emulated::plugin_file().string();
    spec.environment["NCCL_NET_PLUGIN_REF_COUNT"] = "1";
  }
  if (mode == "all") spec.environment["NCCL_NET_DIAG_EVENTS"] = "*";
  spec.actions.push_back({.kind = Kind::kCreate});
  for (const Collective collective : {Collective::kAllReduce, Collective::kSendRecv})
    for (const Case& c : kCases)
      for (int i = 0; i < 1 + kRepetitions; ++i)  // the first connects
        spec.actions.push_back({.kind = Kind::kCollective,
                                .collective = collective,
                                .bytes = c.bytes,
                                .iterations = c.in_a_row,
                                .in_a_row = true});
  spec.actions.push_back({.kind = Kind::kDestroy});
  return spec;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

void run(const bench::Arguments& arguments, const std::string& mode,
         const std::filesystem::path& dir, json& out) {
  std::filesystem::create_directories(dir);
  const auto result = softcuda::run_job(job(arguments, mode, dir));
  if (!result.ok()) throw std::runtime_error(mode + ": " + to_json(result).dump());
  const auto logs =
      std::count_if(std::filesystem::directory_iterator(dir), std::filesystem::directory_iterator(),
                    [](const auto& entry) { return entry.path().extension() == ".jsonl"; });
  if (logs != (mode == "off" ? 0 : 2)) throw std::runtime_error(mode + ": not carried as meant");
  std::map<std::pair<std::string, std::string>, std::vector<double>> times;
  for (const json& event : result.ranks.front().events)
    if (event.at("event") == "collective")
      times[{event.at("collective"), std::to_string(event.at("bytes").get<int>())}].push_back(
          event.at("ms").get<double>() * 1e6 / event.at("iterations").get<double>());
  for (auto& [key, of] : times) {
    of.erase(of.begin());
    out[key.first][key.second][mode].push_back(median(of));
  }
  std::filesystem::remove_all(dir);
}

json measure(const bench::Arguments& arguments) {
  json out;
  for (int round = 0; round < arguments.rounds; ++round)
    for (std::size_t turn = 0; turn < kModes.size(); ++turn) {
      const std::string mode = kModes[(turn + static_cast<std::size_t>(round)) % kModes.size()];
      run(arguments, mode, arguments.dir / (std::to_string(round) + mode), out);
    }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = softcuda::run_as_rank()) return *status;
  return bench::compare(argc, argv, measure);
}

// Random nodes, an official libnccl on each, and check's predictions: see docs/differential.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "differential/core.h"
#include "differential/dice.h"
#include "differential/healthy.h"
#include "differential/run.h"
#include "driver/nccl_cache.h"
#include "softcuda/job.h"
#include "support/catch_session.h"
#include "support/in_memory.h"

namespace {

using namespace nnd::differential;

const std::string kBrokenRun = "the run: ";

struct Options {
  unsigned long seed = 1;
  unsigned long runs = 200;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string nccl;   // empty: by seed one of those in the cache
  std::string rules;  // a release whose rules are compared with in place of its own
  bool healthy = false;
  bool job = false;
};

// Seeds are counted up, so that a failing one can be run by itself.
struct Case {
  unsigned long seed;
  std::string nccl;
  unsigned device;
};

Case case_of(const Options& options, const std::vector<std::string>& versions, unsigned long n) {
  const unsigned long seed = options.seed + n;
  Dice dice(seed ^ 0x6e6e64);
  const int release = dice.below(static_cast<int>(versions.size()));
  return {seed, versions[static_cast<std::size_t>(release)], static_cast<unsigned>(dice.below(64))};
}

std::string again(const Options& options, const Case& one) {
  return fmt::format("differential --seed {} --runs 1 --nccl {}{}{}", one.seed, one.nccl,
                     options.rules.empty() ? "" : " --rules " + options.rules,
                     options.job       ? " --healthy --job"
                     : options.healthy ? " --healthy"
                                       : "");
}

std::string environment_text(const Node& node) {
  std::string out;
  for (const auto& [name, value] : node.environment) out += fmt::format("{}='{}' ", name, value);
  return out;
}

std::string report(const Options& options, const Case& one, const std::vector<std::string>& found) {
  std::string out = fmt::format("seed {}, NCCL {}:\n", one.seed, one.nccl);
  for (const std::string& difference : found) out += "  " + difference + "\n";
  out += "  again: " + again(options, one) + "\n";
  if (options.healthy || found.front().starts_with(kBrokenRun)) return out;
  const Node small = minimise(random_node(one.seed), one.nccl, one.device, options.rules);
  const std::string file = fmt::format("difference-{}-{}.toml", one.seed, one.nccl);
  std::ofstream(file) << small.toml();
  out += fmt::format("  smallest, with {} HCAs and {} variables:\n", small.hcas.size(),
                     small.environment.size());
  for (const std::string& difference : differences(small, one.nccl, one.device, options.rules))
    out += "    " + difference + "\n";
  return out + small.toml() +
         fmt::format(
             "  {}NCCL_SOCKET_IFNAME=lo nccl-net-diag check --json --nccl {} --scenario {}\n",
             environment_text(small), options.rules.empty() ? one.nccl : options.rules, file);
}

std::vector<std::string> run_one(const Options& options, const Case& one, unsigned long& compared) {
  try {
    if (!options.healthy)
      return differences(random_node(one.seed), one.nccl, one.device, options.rules);
    const Node node = without_known_faults(healthy_node(one.seed), one.nccl);
    return options.job ? complaints_of_job(node, one.nccl, &compared) : complaints(node, one.nccl);
  } catch (const std::exception& error) {
    return {kBrokenRun + error.what()};
  }
}

int run(const Options& options, const std::vector<std::string>& versions) {
  const auto start = std::chrono::steady_clock::now();
  std::atomic<unsigned long> next{0};
  std::atomic<unsigned long> failed{0};
  unsigned long compared = 0;  // of the decisions in jobs, which run one at a time
  std::mutex printing;
  const auto work = [&] {
    for (unsigned long n = next++; n < options.runs; n = next++) {
      const Case one = case_of(options, versions, n);
      const auto found = run_one(options, one, compared);
      if (found.empty()) continue;
      ++failed;
      const std::string text = report(options, one, found);
      const std::lock_guard lock(printing);
      std::cout << text << std::flush;
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < options.jobs; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << fmt::format("{} of {} runs differ: seeds {} to {}, releases {}, {:.0f} s\n",
                           failed.load(), options.runs, options.seed,
                           options.seed + options.runs - 1, fmt::join(versions, " "), took.count());
  if (options.job) std::cout << fmt::format("{} decisions of NCCL's core compared\n", compared);
  return failed == 0 && (compared > 0 || !options.job) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = softcuda::run_as_rank()) return *code;
  nnd::test::keep_files_in_memory();
  Options options;
  if (const char* seed = std::getenv("NND_DIFFERENTIAL_SEED")) options.seed = std::stoul(seed);
  CLI::App app("Random nodes: what NCCL does there, and what check says that it would");
  app.add_option("--seed", options.seed, "of the first run; the next ones count up from it");
  app.add_option("--runs", options.runs, "how many");
  app.add_option("--jobs", options.jobs, "how many at a time")->check(CLI::Range(1U, 256U));
  app.add_option("--nccl", options.nccl, "this release, by default by seed one of the cache's");
  app.add_option("--rules", options.rules, "compare with the rules of this release instead");
  auto* const healthy = app.add_flag("--healthy", options.healthy,
                                     "nodes without a fault: nothing may be said of them");
  // softcuda runs one job at a time.
  app.add_flag("--job", options.job, "there a whole job, and what NCCL's core decides in it")
      ->needs(healthy)
      ->each([&](const std::string&) { options.jobs = 1; });
  CLI11_PARSE(app, argc, argv);
  const auto versions = options.nccl.empty() ? nnd::driver::cached_versions()
                                             : std::vector<std::string>{options.nccl};
  if (versions.empty() || !nnd::driver::cached_nccl(versions.front())) {
    std::cout << "SKIPPED: no NCCL in the cache; test/nccl/fetch-nccl fetches it\n";
    return nnd::test::kSkipped;
  }
  return run(options, versions);
}

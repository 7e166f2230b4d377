// nnd-job: a real NCCL job on GPUs that aren't there, over whatever network the environment
// chooses.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "softcuda/job.h"

namespace {

using softcuda::Action;

std::pair<std::string, std::string> split_at(const char* option, const std::string& text,
                                             char mark) {
  const auto at = text.find(mark);
  if (at == std::string::npos || at == 0)
    throw CLI::ValidationError(option, fmt::format("'{}' has no '{}'", text, mark));
  return {text.substr(0, at), text.substr(at + 1)};
}

// "3:..." of an option that is for one rank.
std::pair<int, std::string> split_rank(const char* option, const std::string& text) {
  const auto [rank, rest] = split_at(option, text, ':');
  return {std::stoi(rank), rest};
}

template <typename T>
T known(std::optional<T> value, const char* option, const std::string& text) {
  if (!value) throw CLI::ValidationError(option, "unknown: " + text);
  return *value;
}

struct Options {
  softcuda::JobSpec spec;
  std::vector<std::string> collectives{"all_reduce"}, alone, environment, rank_environment, gpus;
  std::vector<std::uint64_t> sizes{1 << 20U};
  std::string operation = "sum", type = "f32";
  int iterations = 1;
  bool in_place = false, json = false;
};

void define(CLI::App& app, Options& options) {
  auto& spec = options.spec;
  app.add_option("--nccl", spec.nccl, "The official libnccl.so.2 to run")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--nodes", spec.nodes, "Nodes (each gets an NCCL_HOSTID)")
      ->check(CLI::Range(1, 64));
  app.add_option("--gpus", spec.gpus_per_node, "GPUs, and ranks, per node")
      ->check(CLI::Range(1, 16));
  app.add_option("--gpu-pci", options.gpus, "PCI places of a node's GPUs (0000:17:00.0)")
      ->delimiter(',');
  app.add_option("--collective", options.collectives,
                 "all_reduce, all_gather, reduce_scatter, broadcast, reduce, sendrecv")
      ->delimiter(',');
  app.add_option("--alone", options.alone,
                 "RANK:COLLECTIVE:BYTES: one more at the end, which the other ranks leave out");
  app.add_option("--size", options.sizes, "Bytes of the count argument: 65536, 64K")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--iterations", options.iterations)->check(CLI::Range(1, 1000000));
  app.add_option("--op", options.operation, "sum, min, max");
  app.add_option("--type", options.type, "i8, u8, i32, u32, i64, u64, f32, f64");
  app.add_flag("--in-place", options.in_place);
  app.add_option("--env", options.environment, "NAME=VALUE for all ranks");
  app.add_option("--rank-env", options.rank_environment, "RANK:NAME=VALUE");
  app.add_option("--library-path", spec.library_path, "Put in front of LD_LIBRARY_PATH")
      ->delimiter(':');
  app.add_option("--deadline", spec.deadline_sec, "Seconds until the ranks are killed");
  app.add_flag("--json", options.json, "The result as JSON");
}

Action collective(const Options& options, const std::string& name, std::size_t size) {
  return {
      .kind = Action::Kind::kCollective,
      .collective = known(softcuda::collective_named(name), "--collective", name),
      .operation = known(softcuda::operation_named(options.operation), "--op", options.operation),
      .type = known(softcuda::type_named(options.type), "--type", options.type),
      .bytes = size,
      .iterations = options.iterations,
      .in_place = options.in_place};
}

void complete(Options& options) {
  auto& spec = options.spec;
  for (const auto& text : options.environment)
    spec.environment.insert(split_at("--env", text, '='));
  for (const auto& text : options.rank_environment) {
    const auto [rank, variable] = split_rank("--rank-env", text);
    spec.rank_environment[rank].insert(split_at("--rank-env", variable, '='));
  }
  for (const auto& text : options.gpus)
    spec.gpus.push_back(known(softcuda::parse_pci(text), "--gpu-pci", text));
  spec.actions.push_back({.kind = Action::Kind::kCreate});
  for (const auto& name : options.collectives)
    for (const auto size : options.sizes) spec.actions.push_back(collective(options, name, size));
  for (const auto& text : options.alone) {
    const auto [rank, what] = split_rank("--alone", text);
    const auto [name, bytes] = split_at("--alone", what, ':');
    spec.actions.push_back(collective(options, name, std::stoull(bytes)));
    spec.actions.back().iterations = 1;
    spec.actions.back().only_rank = rank;
  }
  spec.actions.push_back({.kind = Action::Kind::kDestroy});
}

void print(const softcuda::JobResult& result) {
  for (const auto& rank : result.ranks) {
    if (!rank.output.empty()) std::cout << rank.output;
    for (const auto& event : rank.events)
      if (event.at("event") == "collective")
        std::cout << "rank " << rank.rank << ": " << event.at("collective").get<std::string>()
                  << " of " << event.at("bytes") << " bytes: data right, " << event.at("ms")
                  << " ms\n";
    if (!rank.error.empty()) std::cout << "rank " << rank.rank << ": " << rank.error << "\n";
    if (rank.signal)
      std::cout << "rank " << rank.rank << ": ended by signal " << *rank.signal << "\n";
    if (rank.late) std::cout << "rank " << rank.rank << ": killed at the deadline\n";
  }
  if (!result.error.empty()) std::cout << result.error << "\n";
  std::cout << (result.ok() ? "passed" : "FAILED") << " in " << result.seconds << " s\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = softcuda::run_as_rank()) return *status;
  CLI::App app{
      "Runs a NCCL job without GPUs: libnccl's own code, with softcuda in the place of the CUDA "
      "runtime"};
  Options options;
  define(app, options);
  try {
    app.parse(argc, argv);
    complete(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const softcuda::JobResult result = softcuda::run_job(options.spec);
  if (options.json)
    std::cout << softcuda::to_json(result).dump(2) << "\n";
  else
    print(result);
  return result.ok() ? 0 : 1;
}

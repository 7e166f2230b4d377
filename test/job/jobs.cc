#include "job/jobs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "driver/nccl_cache.h"

namespace nnd::test {

namespace {

std::string wanted_version(const char* variable, const char* fallback) {
  const char* version = std::getenv(variable);
  return version == nullptr ? fallback : version;
}

std::string wanted_version() { return wanted_version("NND_TEST_NCCL", "2.28.9"); }

std::string cached_library(const std::string& version) {
  const auto found = driver::cached_nccl(version);
  if (!found) {
    fmt::print("SKIPPED: NCCL {} is not in {}\n", version, driver::nccl_cache().string());
    std::exit(77);
  }
  return found->string();
}

// The end of a rank's output: Catch2 takes minutes to wrap a text of megabytes.
std::string tail(const std::string& output) {
  constexpr std::size_t kMost = 8000;
  return output.size() <= kMost ? output : "...\n" + output.substr(output.size() - kMost);
}

}  // namespace

const std::string& nccl_library() {
  static const std::string path = cached_library(wanted_version());
  return path;
}

std::string other_nccl_version() { return wanted_version("NND_TEST_OTHER_NCCL", "2.18.3"); }

std::string other_nccl_library() { return cached_library(other_nccl_version()); }

std::string nccl_version_text() { return wanted_version(); }

int nccl_version() {
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(wanted_version().c_str(), "%d.%d.%d", &major, &minor, &patch) != 3)
    throw std::runtime_error("NND_TEST_NCCL is no version");
  return major * 10000 + minor * 100 + patch;
}

softcuda::JobSpec socket_job(int nodes, int gpus_per_node) {
  softcuda::JobSpec spec;
  spec.nccl = nccl_library();
  spec.nodes = nodes;
  spec.gpus_per_node = gpus_per_node;
  spec.deadline_sec = kDeadlineSec;
  spec.grace_sec = 10;
  spec.environment = {{"NCCL_IB_DISABLE", "1"},
                      {"NCCL_SOCKET_IFNAME", "lo"},
                      {"NCCL_NET_PLUGIN", "none"},
                      {"NCCL_DEBUG", "WARN"}};
  return spec;
}

void add_all_collectives(softcuda::JobSpec& spec, std::initializer_list<std::size_t> sizes) {
  using softcuda::Action;
  using softcuda::Collective;
  constexpr Collective kAll[] = {Collective::kAllReduce,     Collective::kAllGather,
                                 Collective::kReduceScatter, Collective::kBroadcast,
                                 Collective::kReduce,        Collective::kSendRecv};
  spec.actions.push_back({.kind = Action::Kind::kCreate});
  for (const Collective collective : kAll)
    for (const std::size_t bytes : sizes)
      for (const bool in_place : {false, true})
        spec.actions.push_back({.kind = Action::Kind::kCollective,
                                .collective = collective,
                                .bytes = bytes,
                                .root = spec.ranks() - 1,
                                .in_place = in_place});
  spec.actions.push_back({.kind = Action::Kind::kDestroy});
}

void add_all_types(softcuda::JobSpec& spec) {
  using softcuda::Action;
  using softcuda::Collective;
  using softcuda::Operation;
  using softcuda::Type;
  spec.actions.push_back({.kind = Action::Kind::kCreate});
  for (const Operation operation :
       {Operation::kSum, Operation::kMin, Operation::kMax, Operation::kAverage})
    for (const Type type :
         {Type::kInt8, Type::kUint8, Type::kInt32, Type::kUint32, Type::kInt64, Type::kUint64,
          Type::kFloat16, Type::kBfloat16, Type::kFloat32, Type::kFloat64}) {
      const bool divides = operation == Operation::kAverage && type < Type::kFloat16;
      if (divides && nccl_version() < 21900) continue;  // not played there
      for (const Collective collective :
           {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce})
        spec.actions.push_back({.kind = Action::Kind::kCollective,
                                .collective = collective,
                                .operation = operation,
                                .type = type,
                                .bytes = 20024});
    }
  spec.actions.push_back({.kind = Action::Kind::kDestroy});
}

bool aborts_under_way() { return nccl_version() < 22300 || nccl_version() >= 22600; }

void add_abort(softcuda::JobSpec& spec) {
  using Kind = softcuda::Action::Kind;
  spec.actions = {
      {.kind = Kind::kCreate},
      {.kind = Kind::kCollective, .bytes = 4000000},
      {.kind = Kind::kMeet},  // else an abort could break off what the other still waits for
      {.kind = Kind::kAbort},
      {.kind = Kind::kCreate, .comm = 1},
      {.kind = Kind::kCollective, .comm = 1, .bytes = 4000},
      {.kind = Kind::kDestroy, .comm = 1},
  };
  if (aborts_under_way())
    spec.actions.insert(
        spec.actions.begin() + 3,
        {.kind = Kind::kCollective, .bytes = 4000000, .wait = false, .only_rank = 0});
}

void avoid_lost_segments(softcuda::JobSpec& spec) {
  if (nccl_version() < 21900) spec.environment["NCCL_SHM_DISABLE"] = "1";
}

std::string failures(const softcuda::JobResult& result) {
  std::ostringstream text;
  text << result.error;
  for (const auto& rank : result.ranks) {
    if (!rank.error.empty()) text << "rank " << rank.rank << ": " << rank.error << "\n";
    if (rank.signal) text << "rank " << rank.rank << ": signal " << *rank.signal << "\n";
    if (rank.late) text << "rank " << rank.rank << ": not done at the deadline\n";
    if (rank.stopped) text << "rank " << rank.rank << ": stopped after another had failed\n";
    if (!rank.done || rank.signal) text << tail(rank.output) << rank.stacks;
  }
  if (text.str().empty() && !result.ok()) text << "a rank ended early\n";
  constexpr std::size_t kMost = 40000;
  return text.str().substr(0, kMost);
}

}  // namespace nnd::test

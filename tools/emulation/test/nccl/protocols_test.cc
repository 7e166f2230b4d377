// NCCL's protocols and algorithms, each forced, and what NCCL chooses by itself.
#include <string>

#include "job/jobs.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::add_all_collectives;
using nnd::test::failures;
using nnd::test::socket_job;
using Kind = Action::Kind;

namespace {

// Less than a line, an odd size in the middle, more than the connections' buffers.
constexpr std::initializer_list<std::size_t> kSizes = {4, 100, 60004, 3000008};

// The first three are below NCCL_P2P_LL_THRESHOLD.
constexpr std::size_t kMessages[] = {4, 1004, 16384, 100000};

// Runs it; every rank must have played this, as softcuda's log has it.
void run_playing(JobSpec& spec, const std::string& played) {
  spec.environment["SOFTCUDA_LOG"] = "-";
  const JobResult result = run_job(spec);
  CHECK(failures(result) == "");
  for (const RankResult& rank : result.ranks)
    CHECK(rank.output.find("] " + played + " on channel") != std::string::npos);
}

void force(JobSpec& spec, const std::string& algorithm, const std::string& protocol) {
  spec.environment["NCCL_ALGO"] = algorithm;
  spec.environment["NCCL_PROTO"] = protocol;
}

void add_all_reduces(JobSpec& spec) {
  spec.actions.push_back({.kind = Kind::kCreate});
  for (const std::size_t bytes : kSizes)
    for (const bool in_place : {false, true})
      spec.actions.push_back({.kind = Kind::kCollective, .bytes = bytes, .in_place = in_place});
  for (const Type type : {Type::kInt8, Type::kFloat64})
    spec.actions.push_back({.kind = Kind::kCollective,
                            .operation = Operation::kMax,
                            .type = type,
                            .bytes = 20024,
                            .iterations = 2});
  spec.actions.push_back({.kind = Kind::kDestroy});
}

void add_gathers_and_scatters(JobSpec& spec, std::initializer_list<std::size_t> sizes) {
  spec.actions.push_back({.kind = Kind::kCreate});
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter})
    for (const std::size_t bytes : sizes)
      for (const bool in_place : {false, true})
        spec.actions.push_back({.kind = Kind::kCollective,
                                .collective = collective,
                                .bytes = bytes,
                                .in_place = in_place});
  for (const Type type : {Type::kInt8, Type::kFloat64})
    spec.actions.push_back({.kind = Kind::kCollective,
                            .collective = Collective::kReduceScatter,
                            .operation = Operation::kMax,
                            .type = type,
                            .bytes = 20024,
                            .iterations = 2});
  spec.actions.push_back({.kind = Kind::kDestroy});
}

}  // namespace

TEST_CASE("rings with flags in the lines", "[protocols]") {
  for (const char* protocol : {"LL", "LL128"}) {
    INFO(protocol);
    for (const bool nvswitch : {false, true}) {
      JobSpec spec = socket_job(2, 2);
      spec.nvswitch = nvswitch;
      force(spec, "Ring", protocol);
      add_all_collectives(spec, kSizes);
      run_playing(spec, std::string("reduce_scatter Ring ") + protocol);
    }
    JobSpec spec = socket_job(4, 1);  // averages of a power of two are exact in every type
    force(spec, "Ring", protocol);
    nnd::test::add_all_types(spec);
    run_playing(spec, std::string("all_reduce Ring ") + protocol);
  }
}

TEST_CASE("small messages within a node", "[protocols]") {
  for (const bool nvswitch : {false, true}) {
    JobSpec spec = socket_job(1, 2);
    spec.nvswitch = nvswitch;
    spec.actions.push_back({.kind = Kind::kCreate});
    for (const std::size_t bytes : kMessages)
      spec.actions.push_back(
          {.kind = Kind::kCollective, .collective = Collective::kSendRecv, .bytes = bytes});
    spec.actions.push_back({.kind = Kind::kDestroy});
    run_playing(spec, "sendrecv LL");
  }
}

TEST_CASE("trees", "[protocols]") {
  for (const char* protocol : {"Simple", "LL", "LL128"}) {
    INFO(protocol);
    for (const auto& [nodes, gpus] : {std::pair{3, 2}, std::pair{5, 1}}) {
      JobSpec spec = socket_job(nodes, gpus);
      force(spec, "Tree", protocol);
      add_all_reduces(spec);
      run_playing(spec, std::string("all_reduce Tree ") + protocol);
    }
  }
}

TEST_CASE("logarithmic trees for one GPU a node", "[protocols]") {
  if (nnd::test::nccl_version() < 22300) return;  // PAT came then
  for (const int nodes : {2, 5, 6}) {
    JobSpec spec = socket_job(nodes, 1);
    spec.environment["NCCL_ALGO"] = "PAT";
    add_gathers_and_scatters(spec, kSizes);
    run_playing(spec, "reduce_scatter PAT Simple");
  }
}

TEST_CASE("what NCCL chooses by itself", "[protocols]") {
  for (const auto& [nodes, gpus] : {std::pair{2, 2}, std::pair{4, 1}}) {
    JobSpec spec = socket_job(nodes, gpus);
    spec.nvswitch = gpus > 1;
    add_all_collectives(spec, kSizes);
    run_playing(spec, "all_gather Ring LL");
  }
  if (nnd::test::nccl_version() < 22300) return;  // PAT came then
  JobSpec spec = socket_job(8, 1);
  add_gathers_and_scatters(spec, {1000, 20000});
  run_playing(spec, "all_gather PAT Simple");
}

#include "softcuda/pattern.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "softcuda/job_spec.h"
#include "softcuda/reduce.h"
#include "support/catch.h"

using namespace softcuda;

TEST_CASE("a pattern is recognised, and a moved or missing element is not") {
  for (const Type type :
       {Type::kInt8, Type::kUint8, Type::kInt32, Type::kUint32, Type::kInt64, Type::kUint64,
        Type::kFloat16, Type::kBfloat16, Type::kFloat32, Type::kFloat64}) {
    const Pattern pattern{type, 3};
    const auto size = static_cast<std::size_t>(size_of(type));
    std::vector<char> data(30000 * size);
    pattern.fill(data.data(), 0, 30000, 2);
    CHECK_FALSE(pattern.check(data.data(), 0, 30000, 2));
    CHECK(pattern.check(data.data(), 1, 29999, 2));  // another place
    CHECK(pattern.check(data.data(), 0, 30000, 1));  // another rank
    CHECK(Pattern{type, 4}.check(data.data(), 0, 30000, 2));
    data[29999 * size] = static_cast<char>(data[29999 * size] ^ 1);
    CHECK(pattern.check(data.data(), 0, 30000, 2));
  }
}

TEST_CASE("the expected reduction is the one that ranks reduce to") {
  for (const Operation operation : {Operation::kSum, Operation::kMin, Operation::kMax})
    for (const Type type : {Type::kInt8, Type::kUint8, Type::kInt64, Type::kFloat16,
                            Type::kBfloat16, Type::kFloat32}) {
      const Pattern pattern{type, 1};
      const auto size = static_cast<std::size_t>(size_of(type));
      std::vector<char> all(11000 * size), one(11000 * size);
      pattern.fill(all.data(), 0, 11000, 0);
      for (int rank = 1; rank < 5; ++rank) {
        pattern.fill(one.data(), 0, 11000, rank);
        reduce({Collective::kAllReduce, operation, type}, 0, all.data(), all.data(), one.data(),
               11000);
      }
      CHECK_FALSE(pattern.check_reduced(all.data(), 0, 11000, operation, 5));
      CHECK(pattern.check_reduced(all.data(), 0, 11000, operation, 4));
    }
}

TEST_CASE("a job's specification survives JSON") {
  JobSpec spec;
  spec.nccl = "/lib/libnccl.so.2";
  spec.nodes = 3;
  spec.gpus_per_node = 2;
  spec.gpus = {*parse_pci("0000:17:00.0"), *parse_pci("0001:2a:00.0")};
  spec.actions = {
      {.kind = Action::Kind::kSplit, .made = 4, .parts = 3},
      {.collective = Collective::kReduce, .operation = Operation::kMin, .root = 5, .only_rank = 1}};
  spec.node_environment[1]["A"] = "b=c";
  spec.sysfs[2] = "/tmp/sys";
  const RankSpec copy =
      nlohmann::json::parse(nlohmann::json(RankSpec{spec, 4}).dump()).get<RankSpec>();
  CHECK(copy.rank == 4);
  CHECK(copy.job.ranks() == 6);
  CHECK(to_string(copy.job.gpus.at(1)) == "0001:2a:00.0");
  CHECK(copy.job.actions.at(0).kind == Action::Kind::kSplit);
  CHECK(copy.job.actions.at(0).parts == 3);
  CHECK(copy.job.actions.at(1).operation == Operation::kMin);
  CHECK(copy.job.actions.at(1).only_rank == 1);
  CHECK(copy.job.node_environment.at(1).at("A") == "b=c");
  CHECK(copy.job.sysfs.at(2) == "/tmp/sys");
}

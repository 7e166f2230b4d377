// Jobs whose libnccl is unusual: stripped, or two of them in one process.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::FabricJob;
using nnd::test::failures;
using nnd::test::nccl_library;
using Kind = Action::Kind;

namespace {

// A stripped copy in the job's directory. binutils are among the project's packages.
std::string strip(const FabricJob& job) {
  const std::string copy = (job.dir() / "libnccl.so.2").string();
  const std::string command = "strip -o '" + copy + "' '" + nccl_library() + "'";
  REQUIRE(system(command.c_str()) == 0);
  return copy;
}

}  // namespace

TEST_CASE("a stripped library is carried as the official one is", "[stripped]") {
  FabricJob job(1);
  job.spec.nccl = strip(job);
  job.spec.nccl_symbols = nccl_library();  // softcuda's need; the plugin has the stripped one only
  nnd::test::add_all_collectives(job.spec, {100008});
  CHECK(failures(job.run()) == "");
  job.check_carried();
}

TEST_CASE("softcuda refuses what it has no symbols for", "[stripped]") {
  FabricJob job(1);
  job.spec.nccl = strip(job);
  job.spec.actions = {{.kind = Kind::kCreate}};
  const auto refusal = [&job] {
    const JobResult result = job.run();
    CHECK_FALSE(result.ok());
    return result.ranks.at(0).error;
  };
  CHECK(refusal().find("has no symbol table (.symtab)") != std::string::npos);
  job.spec.nccl_symbols = nnd::test::other_nccl_library();
  CHECK(refusal().find("is not the same build as") != std::string::npos);
}

// The net API's calls without a context can't tell them apart, so the second isn't wrapped.
TEST_CASE("two versions of NCCL in one process: the first is carried, the second runs",
          "[two-nccls]") {
  FabricJob job(1);
  job.spec.other_nccl = nnd::test::other_nccl_library();
  job.spec.actions = {
      {.kind = Kind::kCreate, .comm = 0},
      {.kind = Kind::kCollective, .comm = 0, .bytes = 100008},
      {.kind = Kind::kCreate, .comm = 1, .other_nccl = true},
      {.kind = Kind::kCollective, .comm = 1, .bytes = 100008},
      {.kind = Kind::kCollective, .comm = 0, .bytes = 100008},
      {.kind = Kind::kDestroy, .comm = 1},
      {.kind = Kind::kDestroy, .comm = 0},
  };
  const JobResult result = job.run();
  CHECK(failures(result) == "");
  job.check_carried();
}

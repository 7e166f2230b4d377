#include "cli/rehearse/plan.h"

#include <fstream>

#include "cli/common/call_error.h"
#include "cli/common/find_nccl.h"
#include "cli/common/scratch_dir.h"
#include "cli/common/size.h"
#include "support/catch.h"

using namespace nnd::cli;
namespace fs = std::filesystem;

TEST_CASE("sizes as users write them", "[plan]") {
  CHECK(parse_size("4") == 4);
  CHECK(parse_size("64K") == 65536);
  CHECK(parse_size("4M") == std::size_t{4} << 20);
  CHECK(parse_size("4G") == std::size_t{4} << 30);
  for (const char* wrong : {"", "3", "-4", "4k", "4KB", "5G", "18446744073709551616", "K"})
    CHECK_THROWS_AS(parse_size(wrong), CallError);
}

TEST_CASE("each collective and size is warmed up", "[plan]") {
  RehearsePlan plan;
  plan.collectives = {"all_reduce", "broadcast"};
  plan.sizes = {"1K", "2K"};
  plan.iterations = 7;
  plan.gpus = 3;
  const auto spec = make_rehearsal(plan);
  REQUIRE(spec.actions.size() == 2 + 2 * 2 * 2);
  CHECK(spec.actions[1].iterations == 1);
  CHECK(spec.actions[2].iterations == 7);
  CHECK(spec.actions[3].bytes == 2048);
  CHECK(spec.actions[5].collective == softcuda::Collective::kBroadcast);
  CHECK(spec.gpus.size() >= 3);
  // A pair that can't talk ends a rehearsal in seconds; a user's program runs as it would.
  CHECK(spec.environment.at("NCCL_IB_MQP_RETRY_CNT") == "4");
  CHECK_FALSE(make_program_job(plan).environment.contains("NCCL_IB_MQP_RETRY_CNT"));
}

TEST_CASE("where a libnccl is found", "[plan]") {
  const ScratchDir dir("unit");
  const auto make = [&](const fs::path& place) {
    fs::create_directories(dir.path() / place);
    std::ofstream(dir.path() / place / "libnccl.so.2") << "x";
    return (dir.path() / place / "libnccl.so.2").string();
  };
  const auto system = make("lib"),
             python = make("venv/lib/python3.11/site-packages/nvidia/nccl/lib");
  std::string path, environment;
  const auto find = [&](const std::string& wanted) {
    return find_nccl(wanted, [&](const char* name) {
      const std::string asked = name;
      return asked == "LD_LIBRARY_PATH" ? path : asked == "VIRTUAL_ENV" ? environment : "";
    });
  };
  environment = (dir.path() / "venv").string();
  CHECK(find("") == python);
  path = "/no/such/place:" + (dir.path() / "lib").string();
  CHECK(find("") == system);
  CHECK(find(python) == python);
  CHECK(find(fs::path(python).parent_path()) == python);
  CHECK_THROWS_AS(find("/no/such/libnccl.so.2"), CallError);
  // A version is none of the current directory.
  make("2.99.9");
  const auto before = fs::current_path();
  fs::current_path(dir.path());
  CHECK_THROWS_AS(find("2.99.9"), CallError);
  CHECK(find("./2.99.9") == "./2.99.9/libnccl.so.2");
  fs::current_path(before);
}

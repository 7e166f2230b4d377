#include <cstdlib>
#include <string>

#include "cli/check/result.h"
#include "cli/common/calling.h"
#include "support/catch.h"

using namespace nnd;

TEST_CASE("a GPU is named as nvidia-smi names it, where the driver tells") {
  cli::Checked checked;
  facts::Hca hca;
  hca.name = "mlx5_0";
  hca.gpu_distance = facts::PciDistance::kPix;
  hca.near_gpus = {"0000:1b:00.0", "0000:2c:00.0"};
  checked.node.hcas.push_back(hca);
  facts::PciFunction known{.address = "0000:1b:00.0", .path = {}, .index = 3, .uuid = "GPU-8f5a"};
  checked.node.pci.gpus = {known, {.address = "0000:2c:00.0", .path = {}}};
  const auto result = cli::check_result(checked, {});
  CHECK(result["system"]["gpu_list"][0]["index"] == 3);
  CHECK(result["system"]["gpu_list"][0]["uuid"] == "GPU-8f5a");
  CHECK(result["system"]["gpu_list"][1]["index"].is_null());
  const auto has = [&](const cli::Screen& screen, const char* line) {
    const std::string page = cli::check_page(result, screen);
    INFO(page);
    return page.find(line) != std::string::npos;
  };
  CHECK(has(cli::Screen(), "mlx5_0: PIX: GPU 3 0000:1b:00.0, 0000:2c:00.0\n"));
  setenv("COLUMNS", "200", 1);
  cli::Calling all;
  all.verbose = true;
  all.color = cli::When::kNever;
  CHECK(has(cli::Screen(all), "GPU 3 0000:1b:00.0 (GPU-8f5a), 0000:2c:00.0\n"));
}

TEST_CASE("the limit of locked memory is none for a process with CAP_IPC_LOCK") {
  cli::Checked checked;
  checked.node.system.limits.memlock_soft = 8 << 20;
  setenv("COLUMNS", "200", 1);
  const auto line = [&] {
    const std::string page = cli::check_page(cli::check_result(checked, {}), cli::Screen());
    const auto from = page.find("locked memory: ");
    REQUIRE(from != std::string::npos);
    return page.substr(from, page.find(", open files", from) - from);
  };
  CHECK(line() == "locked memory: 8 MiB");
  checked.node.system.limits.cap_ipc_lock = true;
  CHECK(line() == "locked memory: 8 MiB (no limit for this process: it has CAP_IPC_LOCK)");
}

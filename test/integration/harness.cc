#include "integration/harness.h"

#include <stdlib.h>

#include "driver/nccl_cache.h"

namespace nnd::integration {

namespace {

std::string wanted_nccl() {
  const char* wanted = std::getenv("NND_TEST_NCCL");
  return wanted != nullptr && *wanted != '\0' ? wanted : "2.28.9";
}

}  // namespace

std::string nccl() {
  const auto wanted = wanted_nccl();
  if (wanted.find('/') != std::string::npos) return wanted;
  const auto cached = driver::cached_nccl(wanted);
  return cached ? cached->string() : "";
}

std::string nccl_version() { return wanted_nccl(); }

ScratchDir::ScratchDir() {
  auto pattern = (std::filesystem::temp_directory_path() / "nnd-test.XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

ScratchDir::~ScratchDir() { std::filesystem::remove_all(path_); }

driver::RankOptions plain_rank(const ScratchDir& scratch) {
  driver::RankOptions out;
  out.command = {NND_RANK_PROGRAM};
  out.unset = {"NCCL_*", "SOFTVERBS_*", "LD_LIBRARY_PATH"};
  out.environment = {{"NCCL_SOCKET_IFNAME", "lo"}, {"NCCL_DEBUG", "WARN"}};
  out.output = scratch.path() / "output";
  return out;
}

}  // namespace nnd::integration

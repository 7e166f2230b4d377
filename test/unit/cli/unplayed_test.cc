#include "cli/rehearse/unplayed.h"

#include <map>

#include "cli/common/call_error.h"
#include "support/catch.h"

using nnd::cli::CallError;
using nnd::cli::refuse_unplayed;

namespace {

// What is said of it; nothing where it is played.
std::string said(const std::string& name, const std::string& value, bool with_topology = false) {
  try {
    refuse_unplayed([&](const char* asked) { return asked == name ? value : std::string(); },
                    with_topology);
  } catch (const CallError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("algorithms that are not played are refused where nothing else is left", "[unplayed]") {
  for (const char* asked : {"NVLS", "nvlstree", "NVLS,NVLSTree", "CollnetDirect", "CollNetChain",
                            "allreduce:NVLS", "allgather:ring;allreduce:nvls,nvlstree"}) {
    INFO(asked);
    CHECK(said("NCCL_ALGO", asked) == "NCCL_ALGO=" + std::string(asked) +
                                          ": NVLS or CollNet alone is not played here; set "
                                          "NCCL_ALGO=Ring,Tree, or unset it");
  }
  for (const char* asked : {"", "Ring", "ring,tree", "NVLS,Ring", "^NVLS", "PAT",
                            "allreduce:tree;allgather:nvls,ring", "allreduce:^nvls"}) {
    INFO(asked);
    CHECK(said("NCCL_ALGO", asked) == "");
  }
}

TEST_CASE("NVLS that is demanded is refused", "[unplayed]") {
  CHECK(said("NCCL_NVLS_ENABLE", "1") ==
        "NCCL_NVLS_ENABLE=1: NVLS is not played here; set NCCL_NVLS_ENABLE=0, or unset it");
  for (const char* asked : {"", "0", "2"}) CHECK(said("NCCL_NVLS_ENABLE", asked) == "");
}

TEST_CASE("PXN is refused where a topology file joins the GPUs", "[unplayed]") {
  CHECK(said("NCCL_PXN_DISABLE", "0", true) ==
        "NCCL_PXN_DISABLE=0: relaying through another GPU (PXN) is not played here; set "
        "NCCL_PXN_DISABLE=1, or unset it");
  CHECK(said("NCCL_PXN_DISABLE", "1", true) == "");
  CHECK(said("NCCL_PXN_DISABLE", "", true) == "");
  CHECK(said("NCCL_PXN_DISABLE", "0") == "");
}

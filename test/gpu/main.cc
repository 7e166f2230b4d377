// A main of its own: without a GPU nothing here can be tested, and that is said once.
#include <unistd.h>

#include <cstdio>

#include "gpu/cuda_driver.h"
#include "integration/harness.h"
#include "support/catch_session.h"

int main(int argc, char** argv) {
  nnd::gpu::CudaDriver cuda;
  std::string why = cuda.open();
  if (why.empty() && geteuid() != 0) why = "only root gives a node a host name and a /sys";
  if (why.empty() && nnd::integration::nccl().empty())
    why = "no NCCL " + nnd::integration::nccl_version() + " in the cache";
  if (!why.empty()) {
    std::printf("SKIPPED: %s\n", why.c_str());
    return nnd::test::kSkipped;
  }
  return nnd::test::run_cases(argc, argv);
}

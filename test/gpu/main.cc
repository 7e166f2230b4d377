// A main of its own: without a GPU nothing here can be tested, and that is said once.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdio>

#include "gpu/cuda_driver.h"
#include "integration/harness.h"

int main(int argc, char** argv) {
  nnd::gpu::CudaDriver cuda;
  std::string why = cuda.open();
  if (why.empty() && nnd::integration::nccl().empty())
    why = "no NCCL " + nnd::integration::nccl_version() + " in the cache";
  if (!why.empty()) {
    std::printf("SKIPPED: %s\n", why.c_str());
    return nnd::integration::kSkipped;
  }
  return Catch::Session().run(argc, argv);
}

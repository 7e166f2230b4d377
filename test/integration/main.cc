// A main of its own: without the libnccl under test nothing here can be tested, and that is said
// once.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdio>

#include "integration/harness.h"

int main(int argc, char** argv) {
  if (nnd::integration::nccl().empty()) {
    std::printf("SKIPPED: no NCCL %s in the cache; test/nccl/fetch-nccl %s fetches it\n",
                nnd::integration::nccl_version().c_str(), nnd::integration::nccl_version().c_str());
    return nnd::integration::kSkipped;
  }
  return Catch::Session().run(argc, argv);
}

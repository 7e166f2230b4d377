// A main of its own: without the libnccl under test nothing here can be tested, and that is said
// once.
#include <cstdio>

#include "integration/harness.h"
#include "support/catch_session.h"

int main(int argc, char** argv) {
  if (nnd::integration::nccl().empty()) {
    std::printf("SKIPPED: no NCCL %s in the cache; test/nccl/fetch-nccl %s fetches it\n",
                nnd::integration::nccl_version().c_str(), nnd::integration::nccl_version().c_str());
    return nnd::test::kSkipped;
  }
  return nnd::test::run_cases(argc, argv);
}

// A main of its own: without a libnccl nothing here can be tested, and that is said once.
#include <cstdio>

#include "driver/nccl_cache.h"
#include "support/catch_session.h"

int main(int argc, char** argv) {
  if (!nnd::driver::cached_nccl("2.28.9")) {
    std::puts("SKIPPED: no NCCL 2.28.9 in the cache; test/nccl/fetch-nccl 2.28.9 fetches it");
    return nnd::test::kSkipped;
  }
  return nnd::test::run_cases(argc, argv);
}

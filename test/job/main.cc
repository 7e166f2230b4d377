// A test program is a rank of its own jobs too.
#include <cstdlib>

#include "job/jobs.h"
#include "support/catch_session.h"
#include "support/own_network.h"

int main(int argc, char** argv) {
  // A rank on a host of the test's own.
  if (const char* const host = std::getenv("NND_TEST_HOST")) nnd::test::TwoHosts::enter(host);
  if (const auto status = softcuda::run_as_rank()) return *status;
  nnd::test::nccl_library();  // ends the program where there is none
  return nnd::test::run_cases(argc, argv);
}

// A test program is a rank of its own jobs too.
#include "job/jobs.h"
#include "support/catch_session.h"

int main(int argc, char** argv) {
  if (const auto status = softcuda::run_as_rank()) return *status;
  nnd::test::nccl_library();  // ends the program where there is none
  return nnd::test::run_cases(argc, argv);
}

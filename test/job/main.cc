// A test program is a rank of its own jobs too.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "job/jobs.h"

int main(int argc, char** argv) {
  if (const auto status = softcuda::run_as_rank()) return *status;
  nnd::test::nccl_library();  // ends the program where there is none
  return Catch::Session().run(argc, argv);
}

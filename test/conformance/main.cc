// nnd-verbs-conformance [--list] [DEVICE]: runs the list against the libibverbs that is found.
#include <cstdio>
#include <cstring>
#include <exception>

#include "conformance/cases.h"

namespace {

int run_all(const std::string& device) {
  using namespace conformance;
  int failed = 0;
  for (const auto* cases : {&state_cases(), &data_cases(), &error_cases()})
    for (const Case& item : *cases) {
      std::string seen;
      try {
        Bench bench(device);  // anew, so that no event of one case reaches the next
        seen = item.run(bench);
      } catch (const std::exception& wrong) {
        seen = wrong.what();
      }
      std::printf("%s %-20s %s%s%s\n", seen.empty() ? "ok  " : "FAIL", item.name, item.expectation,
                  seen.empty() ? "" : " -- ", seen.c_str());
      std::fflush(stdout);
      failed += seen.empty() ? 0 : 1;
    }
  std::printf("%d failed\n", failed);
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    using namespace conformance;
    for (const auto* cases : {&state_cases(), &data_cases(), &error_cases()})
      for (const Case& item : *cases) std::printf("%-20s %s\n", item.name, item.expectation);
    return 0;
  }
  return run_all(argc > 1 ? argv[1] : "");
}

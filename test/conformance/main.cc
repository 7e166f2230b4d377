// nnd-verbs-conformance [--list] [--patience MS] [DEVICE [CASE...]]: runs the list, or some cases
// of it, against the libibverbs that is found.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "conformance/cases.h"

namespace {

using namespace conformance;

std::vector<Case> chosen_cases(const std::vector<std::string>& names) {
  std::vector<Case> out;
  for (const auto* cases : {&state_cases(), &data_cases(), &error_cases()})
    std::copy_if(cases->begin(), cases->end(), std::back_inserter(out), [&](const Case& item) {
      return names.empty() || std::find(names.begin(), names.end(), item.name) != names.end();
    });
  return out;
}

int run(const std::string& device, const std::vector<Case>& cases) {
  int failed = 0;
  for (const Case& item : cases) {
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
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "--list") {
    for (const Case& item : chosen_cases({}))
      std::printf("%-20s %s\n", item.name, item.expectation);
    return 0;
  }
  if (words.size() > 1 && words[0] == "--patience") {
    patience = std::chrono::milliseconds(std::atoi(words[1].c_str()));
    words.erase(words.begin(), words.begin() + 2);
  }
  const std::string device = words.empty() ? "" : words[0];
  if (!words.empty()) words.erase(words.begin());
  return run(device, chosen_cases(words));
}

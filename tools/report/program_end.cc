#include "report/program_end.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <tuple>

namespace nnd::report {

using foreign::Fact;

bool is_crash(const Fact& ended) {
  constexpr std::array kSignals{SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  return std::find(kSignals.begin(), kSignals.end(), -*ended.status) != kSignals.end();
}

const Fact* ended_of(const foreign::Evidence& evidence) {
  const Fact* out = nullptr;
  const auto order = [](const Fact& fact) {
    return std::tuple(!is_crash(fact), fact.at_sec == 0, fact.at_sec);
  };
  for (const auto& fact : evidence.facts())
    if (fact.what == foreign::What::kEnded && (out == nullptr || order(fact) < order(*out)))
      out = &fact;
  return out;
}

}  // namespace nnd::report

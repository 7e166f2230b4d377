#include "support/catch_session.h"

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdio>

#include "support/catch.h"
#include "support/in_memory.h"
#include "support/skip.h"

namespace nnd::test {

namespace {

int g_skipped = 0;
void (*g_before)() = nullptr;

#if CATCH_VERSION_MAJOR == 2
using CaseListener = Catch::TestEventListenerBase;
#else
using CaseListener = Catch::EventListenerBase;
#endif
struct Listener : CaseListener {
  using CaseListener::CaseListener;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    CaseListener::testCaseStarting(info);
    if (g_before != nullptr) g_before();
  }
};
CATCH_REGISTER_LISTENER(Listener)

}  // namespace

bool before_each_case(void (*what)()) {
  g_before = what;
  return true;
}

void skipped(const std::string& reason) {
  ++g_skipped;
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  std::printf("SKIPPED: %s: %s\n", name.c_str(), reason.c_str());
  std::fflush(stdout);
}

int run_cases(int argc, char** argv) {
  keep_files_in_memory();
  Catch::Session session;
#if CATCH_VERSION_MAJOR == 2  // 3 does so by itself
  session.configData().warnings = Catch::WarnAbout::NoTests;
#endif
  const int failed = session.run(argc, argv);
  return failed == 0 && g_skipped > 0 ? kSkipped : failed;
}

}  // namespace nnd::test

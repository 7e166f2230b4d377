// A program linked for glibc 2.28, as the tool of a package is, on the C library here: its
// constructors run once and before main, threads and exceptions work, and what plugin/compat has
// in place of newer functions says what this C library's own say.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

int g_constructed = 0;
int g_failed = 0;

struct Counts {
  Counts() { ++g_constructed; }
};
const Counts g_counts;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what.c_str());
  g_failed = 1;
}

// Of an errno or a signal, by this program's own function and the C library's.
void expect_same(const char* function, const char* (*own)(int)) {
  const auto theirs = reinterpret_cast<const char* (*)(int)>(dlsym(RTLD_DEFAULT, function));
  if (theirs == nullptr) return;  // an older C library has none
  for (int number = -1; number < 200; ++number) {
    const char* const a = own(number);
    const char* const b = theirs(number);
    expect((a == nullptr) == (b == nullptr) && (a == nullptr || std::strcmp(a, b) == 0),
           std::string(function) + " of " + std::to_string(number));
  }
}

}  // namespace

int main(int argc, char** argv) {
  expect(g_constructed == 1, "a constructor ran once");
  expect(argc == 1 && argv[0] != nullptr && argv[1] == nullptr, "main has its arguments");
  bool caught = false;
  std::thread([&] {
    try {
      throw std::runtime_error("thrown");
    } catch (const std::exception& error) {
      caught = std::string(error.what()) == "thrown";
    }
  }).join();
  expect(caught, "a thread catches what it throws");
  expect_same("strerrorname_np", strerrorname_np);
  expect_same("strerrordesc_np", strerrordesc_np);
  expect_same("sigabbrev_np", sigabbrev_np);
  return g_failed;
}

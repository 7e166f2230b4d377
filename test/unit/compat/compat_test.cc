// What plugin/compat puts in place of newer C libraries' functions.
#include <dlfcn.h>

#include <string>

#include "support/catch.h"

TEST_CASE("a library linked for glibc 2.28 works with the one here") {
  void* library = dlopen(PROBE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  INFO((library == nullptr ? dlerror() : "loaded"));
  REQUIRE(library != nullptr);
  const auto probe = reinterpret_cast<const char* (*)()>(dlsym(library, "compat_probe"));
  REQUIRE(probe != nullptr);
  CHECK(probe() == std::string());
}

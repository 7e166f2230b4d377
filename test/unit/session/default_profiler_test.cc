// Whether a libnccl-profiler.so is installed, as NCCL would find it, and what else NCCL opens.
#include "session/default_profiler.h"

#include <dlfcn.h>

#include "support/catch.h"

using namespace nnd;

namespace {

using OpenByName = void*(const char*);

struct Opener {
  explicit Opener(const char* file) : handle(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE(handle != nullptr);
    open = reinterpret_cast<OpenByName*>(dlsym(handle, "open_by_name"));
    REQUIRE(open != nullptr);
    const auto found = inner::module_of(reinterpret_cast<const void*>(open));
    REQUIRE(found);
    module = *found;
  }
  bool finds(const char* name) const {
    void* const found = open(name);
    const bool known = found != nullptr && dlsym(found, "found_by_name") != nullptr;
    if (found != nullptr) dlclose(found);
    return known;
  }

  void* handle;  // stays: its slots are redirected
  OpenByName* open = nullptr;
  inner::Module module;
};

}  // namespace

TEST_CASE("a profiler that only NCCL's own RUNPATH leads to is installed") {
  const Opener with(NND_OPENS_with_profiler), without(NND_OPENS_without);
  CHECK(session::default_profiler_installed(with.module));
  CHECK_FALSE(session::default_profiler_installed(without.module));
}

TEST_CASE("what else NCCL opens is found where its own RUNPATH leads") {
  const Opener without(NND_OPENS_without);
  REQUIRE(without.finds("libsession-other.so"));
  REQUIRE(session::stand_in_for_default_profiler(without.module));
  CHECK(without.finds("libsession-other.so"));
  CHECK_FALSE(without.finds("libsession-none.so"));
  CHECK_FALSE(without.finds(nullptr));  // the program itself
}

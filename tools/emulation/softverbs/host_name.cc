// On an emulated host ($SOFTVERBS_HOST), all that a program of ours loads finds that host's name:
// NCCL, the shim, the tool itself. The linker is told to keep this and to let libraries see it.
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" [[gnu::visibility("default")]] int gethostname(char* name, std::size_t size) noexcept {
  if (const char* const emulated = std::getenv("SOFTVERBS_HOST")) {
    std::snprintf(name, size, "%s", emulated);
    return 0;
  }
  using Function = int (*)(char*, std::size_t);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "gethostname"));
  return real(name, size);
}

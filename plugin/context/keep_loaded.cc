#include "context/keep_loaded.h"

#include <dlfcn.h>
#include <link.h>

namespace nnd::context {

void keep_loaded(const void* inside) noexcept {
  Dl_info about{};
  void* found = nullptr;
  if (inside == nullptr || dladdr1(inside, &about, &found, RTLD_DL_LINKMAP) == 0) return;
  const char* const name = static_cast<link_map*>(found)->l_name;
  if (name == nullptr || *name == '\0') return;  // the program
  // By the loader's own name for it: the file may be gone.
  void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (library != nullptr) dlclose(library);
}

}  // namespace nnd::context

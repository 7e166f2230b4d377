// Redirects what one loaded module imports: its own GOT slots, nothing outside that module.
#pragma once

#include <cstddef>
#include <string>

namespace softverbs {

struct Import {
  const char* name;
  void* function;  // called instead
};

template <typename Function>
Import redirected(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

// module: a dlopen handle. Returns an empty string, or why it could not be done; a module that
// imports none of the functions is such a reason. To be called before the module runs.
std::string redirect_imports(void* module, const Import* imports, std::size_t count);

}  // namespace softverbs

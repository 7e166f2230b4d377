#include "verbs/survey.h"

#include <dlfcn.h>

#include <cerrno>

#include "verbs/devices.h"
#include "verbs/gid.h"
#include "verbs/library.h"

namespace nnd::verbs {
namespace {

void* load(const std::vector<std::string>& libraries, std::string& problem) {
  for (const std::string& name : libraries) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* why = ::dlerror();
    problem = why == nullptr ? "dlopen failed" : why;
  }
  return nullptr;
}

std::string file_of(const Real& real) {
  Dl_info info{};
  const bool known = ::dladdr(reinterpret_cast<void*>(real.get_device_list), &info) != 0;
  return known && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

Survey survey(const std::vector<std::string>& libraries) {
  Survey out;
  void* handle = load(libraries, out.problem);
  if (handle == nullptr) return out;
  out.problem.clear();
  const Real real = resolve(handle);
  if (real.get_device_list == nullptr || real.free_device_list == nullptr ||
      real.open_device == nullptr || real.close_device == nullptr) {
    out.problem = "it has no ibv_get_device_list, ibv_open_device or what closes them";
    return out;
  }
  out.library = file_of(real);
  int count = 0;
  errno = 0;
  ibv_device** list = real.get_device_list(&count);
  if (list == nullptr) {
    out.list_errno = errno != 0 ? errno : EIO;
    return out;
  }
  for (int i = 0; i < count; ++i) {
    ibv_context* context = nullptr;
    out.devices.push_back(probe(real, list[i], &context));
    if (context == nullptr) continue;
    forget_gids(context);
    real.close_device(context);
  }
  real.free_device_list(list);
  return out;
}

}  // namespace nnd::verbs

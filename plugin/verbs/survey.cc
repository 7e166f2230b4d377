#include "verbs/survey.h"

#include <dlfcn.h>
#include <limits.h>

#include <array>
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

// As NCCL asks: of a library that may be missing, whose functions may be too. That of the same
// rdma-core lies beside libibverbs.
class Mlx5 {
 public:
  explicit Mlx5(const std::string& libibverbs) {
    const std::string folder = libibverbs.substr(0, libibverbs.rfind('/') + 1);
    void* handle = ::dlopen((folder + "libmlx5.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) handle = ::dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    is_supported_ = reinterpret_cast<bool (*)(ibv_device*)>(
        ::dlvsym(handle, "mlx5dv_is_supported", "MLX5_1.8"));
    sysfs_path_ = reinterpret_cast<int (*)(ibv_context*, char*, std::size_t)>(
        ::dlvsym(handle, "mlx5dv_get_data_direct_sysfs_path", "MLX5_1.25"));
  }

  facts::DataDirect data_direct(ibv_context* context) const {
    facts::DataDirect out;
    if (is_supported_ == nullptr || sysfs_path_ == nullptr || !is_supported_(context->device))
      return out;
    std::array<char, PATH_MAX> path{};
    out.error = sysfs_path_(context, path.data(), path.size());
    if (out.error == 0) out.path = path.data();
    return out;
  }

 private:
  bool (*is_supported_)(ibv_device*) = nullptr;
  int (*sysfs_path_)(ibv_context*, char*, std::size_t) = nullptr;
};

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
  const Mlx5 mlx5(out.library);
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
    out.devices.back().data_direct = mlx5.data_direct(context);
    forget_gids(context);
    real.close_device(context);
  }
  real.free_device_list(list);
  return out;
}

}  // namespace nnd::verbs

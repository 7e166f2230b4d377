#include "softverbs/verbs/mlx5_bridge.h"

#include <cerrno>
#include <cstdio>

#include "softverbs/verbs/exports.h"

using namespace softverbs;

extern "C" {

int softverbs_mlx5_look(ibv_device* device) { return device_of(device)->hca->look == Look::kMlx5; }

int softverbs_mlx5_data_direct(ibv_context* context, char* buffer, size_t size) {
  const std::string& path = context_of(context)->device->hca->data_direct;
  if (path.empty()) return ENODEV;
  if (path.size() >= size) return ENOSPC;
  std::snprintf(buffer, size, "%s", path.c_str());
  return 0;
}

ibv_mr* softverbs_mlx5_reg_dmabuf(ibv_pd* pd, size_t length, uint64_t iova, int fd, int access) {
  return register_dmabuf(pd, length, iova, fd, access);
}

}  // extern "C"

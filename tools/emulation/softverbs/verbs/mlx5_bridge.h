// What the libmlx5 stand-in asks the libibverbs one. Plain C, at the node SOFTVERBS_PRIVATE.
#pragma once

#include <infiniband/verbs.h>

extern "C" {
int softverbs_mlx5_look(ibv_device* device);
// 0 and the path, ENODEV where the HCA has no data-direct function, ENOSPC where it does not fit.
int softverbs_mlx5_data_direct(ibv_context* context, char* buffer, size_t size);
ibv_mr* softverbs_mlx5_reg_dmabuf(ibv_pd* pd, size_t length, uint64_t iova, int fd, int access);
}

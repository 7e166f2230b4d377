// libmlx5.so.1: the functions of mlx5dv that NCCL takes (NCCL src/misc/mlx5dvsymbols.cc).
#include <infiniband/mlx5dv.h>

#include <cerrno>

#include "softverbs/verbs/mlx5_bridge.h"

extern "C" {

bool mlx5dv_is_supported(ibv_device* device) { return softverbs_mlx5_look(device) != 0; }

int mlx5dv_get_data_direct_sysfs_path(ibv_context* context, char* buffer, size_t size) {
  return softverbs_mlx5_data_direct(context, buffer, size);
}

ibv_mr* mlx5dv_reg_dmabuf_mr(ibv_pd* pd, uint64_t, size_t length, uint64_t iova, int fd, int access,
                             int) {
  return softverbs_mlx5_reg_dmabuf(pd, length, iova, fd, access);
}

// None of what comp_mask may ask for is there, such as receive requests out of order.
int mlx5dv_query_device(ibv_context* context, mlx5dv_context* attrs) {
  if (!softverbs_mlx5_look(context->device)) return EOPNOTSUPP;
  attrs->version = 0;
  attrs->flags = 0;
  attrs->comp_mask = 0;
  return 0;
}

ibv_qp* mlx5dv_create_qp(ibv_context*, ibv_qp_init_attr_ex* init, mlx5dv_qp_init_attr* special) {
  if (special && special->comp_mask) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ibv_qp_init_attr plain{};
  plain.qp_context = init->qp_context;
  plain.send_cq = init->send_cq;
  plain.recv_cq = init->recv_cq;
  plain.srq = init->srq;
  plain.cap = init->cap;
  plain.qp_type = init->qp_type;
  plain.sq_sig_all = init->sq_sig_all;
  ibv_qp* qp = ibv_create_qp(init->pd, &plain);
  if (qp) init->cap = plain.cap;
  return qp;
}

}  // extern "C"

// The verbs that are wrapped, and the symbol version at which NCCL asks for each (NCCL 2.18.3 to
// 2.30.7, src/misc/ibvsymbols.cc and mlx5dvsymbols.cc). A name asked for at another node is another
// ABI and is left alone.
#pragma once

#include "verbs/verbs_abi.h"

// X(field, symbol, node, type)
#define NND_VERBS_TABLE(X)                                                                       \
  X(get_device_list, "ibv_get_device_list", "IBVERBS_1.1", ibv_device**(int*))                   \
  X(free_device_list, "ibv_free_device_list", "IBVERBS_1.1", void(ibv_device**))                 \
  X(open_device, "ibv_open_device", "IBVERBS_1.1", ibv_context*(ibv_device*))                    \
  X(close_device, "ibv_close_device", "IBVERBS_1.1", int(ibv_context*))                          \
  X(query_device, "ibv_query_device", "IBVERBS_1.1", int(ibv_context*, ibv_device_attr*))        \
  X(query_port, "ibv_query_port", "IBVERBS_1.1",                                                 \
    int(ibv_context*, std::uint8_t, _compat_ibv_port_attr*))                                     \
  X(query_gid, "ibv_query_gid", "IBVERBS_1.1", int(ibv_context*, std::uint8_t, int, ibv_gid*))   \
  X(query_pkey, "ibv_query_pkey", "IBVERBS_1.1", int(ibv_context*, std::uint8_t, int, __be16*))  \
  X(alloc_pd, "ibv_alloc_pd", "IBVERBS_1.1", ibv_pd*(ibv_context*))                              \
  X(dealloc_pd, "ibv_dealloc_pd", "IBVERBS_1.1", int(ibv_pd*))                                   \
  X(reg_mr, "ibv_reg_mr", "IBVERBS_1.1", ibv_mr*(ibv_pd*, void*, std::size_t, int))              \
  X(reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8",                                             \
    ibv_mr*(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned))                               \
  X(reg_dmabuf_mr, "ibv_reg_dmabuf_mr", "IBVERBS_1.12",                                          \
    ibv_mr*(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int))                       \
  X(dereg_mr, "ibv_dereg_mr", "IBVERBS_1.1", int(ibv_mr*))                                       \
  X(create_cq, "ibv_create_cq", "IBVERBS_1.1",                                                   \
    ibv_cq*(ibv_context*, int, void*, ibv_comp_channel*, int))                                   \
  X(destroy_cq, "ibv_destroy_cq", "IBVERBS_1.1", int(ibv_cq*))                                   \
  X(create_qp, "ibv_create_qp", "IBVERBS_1.1", ibv_qp*(ibv_pd*, ibv_qp_init_attr*))              \
  X(modify_qp, "ibv_modify_qp", "IBVERBS_1.1", int(ibv_qp*, ibv_qp_attr*, int))                  \
  X(query_qp, "ibv_query_qp", "IBVERBS_1.1", int(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*)) \
  X(destroy_qp, "ibv_destroy_qp", "IBVERBS_1.1", int(ibv_qp*))                                   \
  X(get_async_event, "ibv_get_async_event", "IBVERBS_1.1", int(ibv_context*, ibv_async_event*))  \
  X(mlx5_create_qp, "mlx5dv_create_qp", "MLX5_1.3",                                              \
    ibv_qp*(ibv_context*, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*))                           \
  X(mlx5_reg_dmabuf_mr, "mlx5dv_reg_dmabuf_mr", "MLX5_1.25",                                     \
    ibv_mr*(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int, int))

// What the layer itself asks of the library that NCCL opened; may be missing.
#define NND_VERBS_HELPERS(X)                                                          \
  X(get_device_name, "ibv_get_device_name", "IBVERBS_1.1", const char*(ibv_device*))  \
  X(event_type_str, "ibv_event_type_str", "IBVERBS_1.1", const char*(ibv_event_type)) \
  X(query_gid_table, "_ibv_query_gid_table", "IBVERBS_1.11",                          \
    ssize_t(ibv_context*, ibv_gid_entry*, std::size_t, std::uint32_t, std::size_t))   \
  X(query_port_speed, "ibv_query_port_speed", "IBVERBS_1.16",                         \
    int(ibv_context*, std::uint32_t, std::uint64_t*))

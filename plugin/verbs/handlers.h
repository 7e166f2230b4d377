// What stands in for each verb: the library that NCCL asked, then the verb's own arguments. Every
// handler calls the real verb exactly once and returns what it returned, errno included.
#pragma once

#include "verbs/library.h"

namespace nnd::verbs::handlers {

// devices.cc
ibv_device** get_device_list(const Library&, int* count);
void free_device_list(const Library&, ibv_device** list);
ibv_context* open_device(const Library&, ibv_device* device);
int close_device(const Library&, ibv_context* context);

// plain.cc
int query_device(const Library&, ibv_context*, ibv_device_attr*);
int query_port(const Library&, ibv_context*, std::uint8_t port, _compat_ibv_port_attr*);
int query_gid(const Library&, ibv_context*, std::uint8_t port, int index, ibv_gid*);
int query_pkey(const Library&, ibv_context*, std::uint8_t port, int index, __be16*);
ibv_pd* alloc_pd(const Library&, ibv_context*);
int dealloc_pd(const Library&, ibv_pd*);
ibv_cq* create_cq(const Library&, ibv_context*, int entries, void* cq_context, ibv_comp_channel*,
                  int vector);
int destroy_cq(const Library&, ibv_cq*);

// memory.cc
ibv_mr* reg_mr(const Library&, ibv_pd*, void* address, std::size_t length, int access);
ibv_mr* reg_mr_iova2(const Library&, ibv_pd*, void* address, std::size_t length, std::uint64_t iova,
                     unsigned access);
ibv_mr* reg_dmabuf_mr(const Library&, ibv_pd*, std::uint64_t offset, std::size_t length,
                      std::uint64_t iova, int fd, int access);
int dereg_mr(const Library&, ibv_mr*);
ibv_mr* mlx5_reg_dmabuf_mr(const Library&, ibv_pd*, std::uint64_t offset, std::size_t length,
                           std::uint64_t iova, int fd, int access, int mlx5_access);

// queue_pair.cc
ibv_qp* create_qp(const Library&, ibv_pd*, ibv_qp_init_attr*);
ibv_qp* mlx5_create_qp(const Library&, ibv_context*, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*);
int modify_qp(const Library&, ibv_qp*, ibv_qp_attr*, int mask);
int query_qp(const Library&, ibv_qp*, ibv_qp_attr*, int mask, ibv_qp_init_attr*);
int destroy_qp(const Library&, ibv_qp*);

// async.cc
int get_async_event(const Library&, ibv_context*, ibv_async_event*);

}  // namespace nnd::verbs::handlers

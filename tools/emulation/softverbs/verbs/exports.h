// Shared by the files that implement the exported verbs.
#pragma once

#include <cstddef>

#include "softverbs/verbs/engine.h"
#include "softverbs/verbs/objects.h"

namespace softverbs {

inline constexpr int kMaxQpWr = 32768;
inline constexpr int kMaxSge = 30;
inline constexpr int kMaxCqe = (1 << 22) - 1;
inline constexpr int kMaxRdAtomic = 16;
inline constexpr std::uint32_t kMaxInline = 1024;

const Port* find_port(const Device& device, unsigned number);
const GidEntry* find_gid(const Port& port, int index);
int port_state(const Endpoint& end);
// The errno that the scenario wants this call to fail with, after its delay; 0: none.
int injected(const char* verb, const Hca& hca);
std::nullptr_t fail_with(int error);  // sets errno

// The data path, reached through context->ops.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
int poll_cq(ibv_cq* cq, int max, ibv_wc* wc);

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr& init);
ibv_mr* register_dmabuf(ibv_pd* pd, std::size_t length, std::uint64_t iova, int fd, int access);
// As ibv_modify_qp, once the fault injection had its say.
int modify_qp(Qp& qp, const ibv_qp_attr& attr, int mask);

}  // namespace softverbs

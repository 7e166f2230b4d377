// What the cases work on: a device, memory, and pairs of QPs that talk to each other through one
// port's loopback.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/verbs_api.h"

namespace conformance {

inline constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct PortAddress {
  std::uint8_t port = 1;
  bool roce = true;
  int gid_index = 0;
  ibv_gid gid{};
  std::uint16_t lid = 0;
  ibv_mtu mtu = IBV_MTU_1024;
};

struct QpOptions {
  std::uint32_t send_wr = 16;
  std::uint32_t recv_wr = 16;
  std::uint32_t sge = 2;
  std::uint32_t inline_bytes = 64;
  int access = kAllAccess;
  std::uint8_t timeout = 14;
  std::uint8_t retry = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 12;
};

class Bench {
 public:
  // device: a name, or empty for the first with an active port. Throws std::runtime_error.
  explicit Bench(const std::string& device);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  ibv_context* context = nullptr;
  ibv_device_attr device{};
  PortAddress port;

 private:
  ibv_device** list_ = nullptr;
};

// Attributes for each step, complete and right: cases break one thing.
ibv_qp_attr init_attr(const PortAddress& port, int access = kAllAccess);
ibv_qp_attr rtr_attr(const PortAddress& port, std::uint32_t peer_qp, const QpOptions& options);
ibv_qp_attr rts_attr(const QpOptions& options);
inline constexpr int kInitMask =
    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

// Two QPs with a CQ and memory each, connected (or not). Owns all of it.
class Pair {
 public:
  explicit Pair(Bench& bench, const QpOptions& options = {}, bool connected = true,
                int memory_access = kAllAccess, int cq_entries = 64);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  static constexpr std::size_t kBytes = 1 << 20;

  struct End {
    ibv_cq* cq = nullptr;
    ibv_qp* qp = nullptr;
    ibv_mr* mr = nullptr;
    std::vector<char> memory;

    ibv_sge sge(std::size_t offset, std::size_t length) const;
    std::uint64_t address(std::size_t offset) const;
    void destroy_qp();
  };

  int connect();  // both to RTS; the first errno
  ibv_pd* pd = nullptr;
  End a;
  End b;

 private:
  Bench& bench_;
  QpOptions options_;
};

// Posts one work request from a. Returns the errno of the call.
struct Send {
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  std::uint64_t id = 1;
  unsigned flags = IBV_SEND_SIGNALED;
  std::vector<ibv_sge> sges;
  std::uint64_t remote = 0;
  std::uint32_t rkey = 0;
  std::uint32_t imm = 0;
  std::uint64_t compare = 0;
  std::uint64_t swap = 0;
};
int post(ibv_qp* qp, Send send);
int post_receive(ibv_qp* qp, std::uint64_t id, std::vector<ibv_sge> sges);

// How long a completion or an event is waited for. Set before the first case runs.
extern std::chrono::milliseconds patience;

// The next completion or event, or nothing when patience ends.
std::optional<ibv_wc> next(ibv_cq* cq);
std::optional<ibv_async_event> next_event(ibv_context* context);

}  // namespace conformance

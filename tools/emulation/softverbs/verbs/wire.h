// What goes over a connection between two processes' QPs. One stream socket per QP and direction:
// requests one way, responses the other. Both ends are the same build on the same machine.
#pragma once

#include <cstdint>

namespace softverbs {

inline constexpr std::uint32_t kHelloMagic = 0x5f76624f;

// First on every connection, from the requester.
struct Hello {
  std::uint32_t magic = kHelloMagic;
  std::uint32_t to_qp = 0;
  std::uint32_t from_qp = 0;
  std::uint32_t psn = 0;  // the requester's first; must be what the responder expects
};

struct Request {
  std::uint64_t sequence = 0;  // counts from 0 on each connection's QP life, for cumulative answers
  std::uint64_t remote_addr = 0;
  std::uint64_t compare = 0;
  std::uint64_t swap = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
  std::uint32_t imm = 0;
  std::uint8_t opcode = 0;  // enum ibv_wr_opcode
  std::uint8_t solicited = 0;
  std::uint16_t reserved = 0;
};

enum class Answer : std::uint32_t {
  kWelcome,   // the QP is there and ready: requests may come
  kAck,       // all up to sequence are done
  kData,      // a read's or an atomic's result follows
  kNotReady,  // no receive request; value: the receiver's RNR timer code
  kRefused,   // value: the requester's enum ibv_wc_status
};

struct Response {
  Answer kind = Answer::kAck;
  std::uint32_t value = 0;
  std::uint64_t sequence = 0;
  std::uint64_t length = 0;
};

}  // namespace softverbs

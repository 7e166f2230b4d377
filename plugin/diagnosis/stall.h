// A connection that isn't made, or over which nothing moves: what of it can be seen beside NCCL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

enum class Wait : std::uint8_t {
  // It is being made.
  kTcp,          // connect: the TCP connection to the listener does not come about
  kNotAccepted,  // connect: the peer has not answered
  kNotDialled,   // accept: nobody has come
  kMetadata,     // accept: somebody has come and not sent what it has to
  kQps,          // connect: the peer took it up and has not sent its QPs
  kReady,        // the peer has not said that its QPs are ready
  kModifyQp,     // inside ibv_modify_qp, or between its attempts
  kInCall,       // inside another call of the transport's
  kNotPolled,    // NCCL has stopped asking
  // NCCL has it.
  kIdle,         // NCCL wants nothing of the network
  kNothingCame,  // a receive is posted
  kNoReceive,    // isend gives no request: the peer has not posted its receive
  kNotAsked,     // requests are in flight, and NCCL asks for none of them
  kHeldBack,     // a send is taken, and no work request of it is on a QP
  kStuckSend,    // work requests are posted and don't complete
  kStuckFlush,   // likewise, of a flush: the HCA reads this node's own memory
  kSlow,         // it moves, far slower than its siblings, or than before
  kCount
};

// "stuck-send": field "kind" of the events.
std::string_view wait_name(Wait wait) noexcept;

bool being_made(Wait wait) noexcept;

// What a healthy job never shows: the network, or the peer's transport, is at fault. Everything
// else may be the program's own doing: a rank that computes, or has not come yet.
enum class Suspicion : std::uint8_t {
  kNone,
  kLater,  // only where it lasts: a peer that makes hundreds of connections takes them one by one
  kAtOnce
};
Suspicion suspicion(Wait wait) noexcept;
// Whether this end's port or address must be there for it to go on.
bool needs_own_port(Wait wait) noexcept;

// A collective, send or receive.
struct TaskName {
  std::string func;          // "AllReduce"; empty: not known
  std::int64_t number = -1;  // NCCL's, which counts them in a communicator; -1: it has none
  std::uint64_t comm = 0;    // 0: not known
  std::uint64_t bytes = 0;
  std::int32_t rank = -1;  // of this process in the communicator; -1: not known
};
std::string task_text(const TaskName& task);  // "AllReduce #4711"

// The TCP connection over which the two ends were set up, and which NCCL keeps while it has them.
enum class PeerTcp : std::uint8_t {
  kUnknown,
  kOpen,   // the peer's process is there, or its whole node is not
  kClosed  // the process has ended, or NCCL there has closed the connection
};

struct CounterGrowth {
  std::string name;
  std::uint64_t by = 0;
};

struct Stall {
  Wait wait = Wait::kIdle;
  double sec = 0;
  std::string place;              // "mlx5_0:1"; empty: not known
  std::string peer;               // "10.0.1.9"; empty: not known
  std::string listener;           // "10.1.0.4:43211"; empty: not known
  std::uint64_t connections = 1;  // that are like this one, which waits longest
  std::uint64_t peers = 1;        // of these
  // kModifyQp
  std::string to = {};  // "RTR"; empty: not known
  unsigned attempt = 0;
  double attempt_sec = -1;  // inside the verb; -1: between two attempts
  // requests in flight; of kStuckSend the time until the HCA gives up, 0: not known
  std::uint64_t requests = 0;
  double retry_sec = 0;
  bool on_hca = true;          // kStuckSend: the QPs are seen; else only the transport has it
  bool after_failure = false;  // another connection of this process had failed before
  PeerTcp peer_tcp = PeerTcp::kUnknown;
  // What the HCA has told of this end.
  bool gid_gone = false;  // the address that its QPs send from
  bool port_down = false;
  double down_ago_sec = -1;  // the port went down, the last time; -1: never
  double down_sec = 0;       // for so long, where it is up again
  // Trouble that the port has counted within this time; 0: it was not read.
  double counters_sec = 0;
  std::vector<CounterGrowth> counters = {};
  // kSlow: how long a send takes, and takes elsewhere, or took before; of its port then, in bytes a
  // second, what it moves at most while anything is under way, and moved before
  double ms = 0;
  double usual_ms = 0;
  double rate = 0;
  double usual_rate = 0;  // 0: it was compared with its siblings
  // Whose connection it is, -1: not known; and what it waits in, of kIdle the last that NCCL was
  // given.
  std::int32_t peer_rank = -1;
  std::int32_t channel = -1;
  TaskName task = {};
  std::string awaited = {};  // "in the end for rank 3 of node1 (pid 812), which has ended"
};

// failure: what was diagnosed of this connection before, in which it is still; null: nothing was.
Diagnosis diagnose(const Stall& seen, const Diagnosis* failure = nullptr);

}  // namespace nnd::diagnosis

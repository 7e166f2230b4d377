// What NCCL is doing with us on this thread: the net layer says it, the verbs layer reads it. A
// connection's QPs are made on the thread that is inside that connection's connect or accept, so
// this gives every QP its connection. One instance per thread; no locking.
#pragma once

#include <cstdint>

#include "context/gid.h"

namespace nnd::state {

struct Connection;
struct Qp;

enum class Call : std::uint8_t {
  kNone,  // not inside a call of ours: NCCL's own threads (GIN, port recovery, async events)
  kInit,
  kDevices,
  kGetProperties,
  kListen,
  kConnect,
  kAccept,
  kRegMr,
  kRegMrDmaBuf,
  kDeregMr,
  kClose,
  kFinalize,
  kGin,  // GIN's connect and context, which make QPs past the net API
  kOther
};

enum class Direction : std::uint8_t { kNone, kSend, kRecv };

// What is known of a connection while it is being made. Plain data: the verbs layer copies it into
// its QP table.
struct Identity {
  std::uint32_t id = 0;  // event field "conn"; 0: no connection
  Direction dir = Direction::kNone;
  std::int32_t dev = -1;          // net device index as NCCL passed it
  std::uint64_t comm = 0;         // NCCL's communicator hash, 0 where the net API does not tell it
  std::uint64_t link_proc = 0;    // "link": the listener's process id ...
  std::uint32_t link_listen = 0;  // ... and its listen id; the same on both ends
  // The peer, where the handle trailer told it: its process id, and the port that it listens on.
  std::uint64_t peer_proc = 0;
  context::Gid peer_gid{};
  std::uint8_t peer_link_layer = 0;  // as enum ibv link layers
  std::uint8_t peer_roce = 0;        // RoCE version of this GID
  Connection* entry = nullptr;       // its place in the table (connections.h); null: it has none
};

struct CallContext {
  Call call = Call::kNone;
  Identity conn;
  int ptr_type = 0;  // NCCL_PTR_* during regMr
  // Written by the verbs layer for whoever made the call: the last verb that failed inside it.
  const char* failed_verb = nullptr;
  int failed_errno = 0;
  // Of a QP that was moved inside this call: the remote GID, and the link layer behind it.
  context::Gid peer_gid{};
  std::uint8_t peer_link_layer = 0;
  std::uint32_t failure = 0;  // number of what failed inside this call (failure.h); 0: nothing did
};

CallContext& current() noexcept;

// The last failed completion that this thread has polled: whoever gets an error from the
// transport's test on it finds the reason. conn 0: none.
struct FailedCompletion {
  std::uint32_t conn = 0;
  int status = 0;               // enum ibv_wc_status
  context::Gid peer_gid{};      // of the QP that failed
  const Qp* qp = nullptr;       // null: not known
  std::uint64_t completed = 0;  // on that QP when it failed

  // False once the QP has worked again or was reset: NCCL got over it, and what fails later has
  // another reason.
  bool holds() const noexcept;
};
FailedCompletion& failed_completion() noexcept;

// Makes a call current for the life of the object, and restores what was there before.
class Scope {
 public:
  Scope(Call call, const Identity& conn, int ptr_type = 0) noexcept : saved_(current()) {
    CallContext& now = current();
    now = CallContext{};
    now.call = call;
    now.conn = conn;
    now.ptr_type = ptr_type;
  }
  ~Scope() { current() = saved_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  CallContext saved_;
};

}  // namespace nnd::state

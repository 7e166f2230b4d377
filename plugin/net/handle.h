// The tail of the handle that listen fills: a trailer goes there where the transport leaves it
// alone (include/nccl_net_diag/handle_trailer.h).
#pragma once

#include <optional>

#include "nccl_net_diag/handle_trailer.h"
#include "state/ends.h"

namespace nnd::net {

// Around the transport's listen. Puts a pattern into the tail, so that every byte that the
// transport writes is seen.
class HandleTail {
 public:
  explicit HandleTail(void* handle) noexcept;

  // After a listen that succeeded: true if the trailer was written.
  bool seal(const nccl_net_diag::trailer::Trailer& trailer) noexcept;
  // After one that failed, or when no trailer is wanted: what the transport didn't write is as it
  // was before.
  void restore() noexcept;

 private:
  std::uint8_t* tail_;
  nccl_net_diag::trailer::Bytes before_;
};

// Where the listener waits, as far as the handle begins with its socket's address, as that of
// NCCL's IB and Socket does in all releases (src/transport/net_ib.cc, net_socket.cc, 2.18.3
// to 2.30.7).
void read_listener(const void* handle, state::ConnectionStart& start) noexcept;

// What a peer's handle tells.
std::optional<nccl_net_diag::trailer::Trailer> read_trailer(const void* handle) noexcept;

}  // namespace nnd::net

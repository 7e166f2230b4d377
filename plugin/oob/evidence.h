// What kernel and interfaces say of a bootstrap that doesn't go on.
#pragma once

#include <string>

#include "diagnosis/bootstrap.h"
#include "state/bootstrap.h"

namespace nnd::oob {

std::string address_text(
    const state::SocketAddress& address);  // "10.0.0.12:4711", "[fd00::1]:4711"

// The NCCL whose calls are seen; 0: not known.
void set_nccl_version(int version) noexcept;
int nccl_version() noexcept;

// age_ns: of what it waits for; 0: it does not, and the interfaces as they were will do. Some
// system calls.
diagnosis::Bootstrap evidence(const state::Boot& boot, std::uint64_t age_ns);

}  // namespace nnd::oob

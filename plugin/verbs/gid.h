// GIDs as text, and those that were read last. A RoCE GID is the interface's IPv6 address or its
// IPv4 address in ::ffff:0:0/96.
#pragma once

#include <string>

#include "context/gid.h"
#include "verbs/verbs_abi.h"

namespace nnd::verbs {

context::Gid raw_of(const ibv_gid& gid) noexcept;
bool is_zero(const ibv_gid& gid) noexcept;
bool is_ipv4(const ibv_gid& gid) noexcept;
bool is_link_local(const ibv_gid& gid) noexcept;

std::string gid_text(const ibv_gid& gid);      // "::ffff:10.0.1.2", "fe80::1"
std::string address_text(const ibv_gid& gid);  // "10.0.1.2" where it is IPv4

// What NCCL (or the probe) last read at an index, so that a transition need not ask again.
void remember_gid(const ibv_context* context, unsigned port, unsigned index, const ibv_gid& gid);
bool recall_gid(const ibv_context* context, unsigned port, unsigned index, ibv_gid& gid);
void forget_gids(const ibv_context* context);  // closed, or its GID table changed

}  // namespace nnd::verbs

// GIDs as verbs has them, and those that were read last.
#pragma once

#include <span>
#include <string>

#include "context/gid.h"
#include "facts/verbs_device.h"
#include "verbs/verbs_abi.h"

namespace nnd::verbs {

context::Gid raw_of(const ibv_gid& gid) noexcept;
std::string address_text(const context::Gid& gid);  // "10.0.1.2" where it is IPv4

// What NCCL (or the probe) last read at an index, so that a transition need not ask again.
void remember_gid(const ibv_context* context, unsigned port, unsigned index,
                  const context::Gid& gid);
void remember_gids(const ibv_context* context, unsigned port,
                   std::span<const facts::VerbsGid> told);
bool recall_gid(const ibv_context* context, unsigned port, unsigned index, context::Gid& gid);
void forget_gids(const ibv_context* context);  // closed, or its GID table changed

}  // namespace nnd::verbs

#include "verbs/gid.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "facts/ip.h"

namespace nnd::verbs {
namespace {

// GIDs by their index, one table per port: a port may have hundreds.
struct PortGids {
  const ibv_context* context;
  unsigned port;
  std::vector<context::Gid> gids;  // zero: not known
};
constexpr unsigned kMaxIndex = 65536;  // far above every HCA's table

context::ForkMutex g_mutex;
std::vector<PortGids>& seen() {
  static context::Immortal<std::vector<PortGids>> tables;
  return *tables;
}

std::vector<context::Gid>* table_of(const ibv_context* context, unsigned port) {
  for (PortGids& table : seen())
    if (table.context == context && table.port == port) return &table.gids;
  return nullptr;
}

}  // namespace

context::Gid raw_of(const ibv_gid& gid) noexcept {
  context::Gid raw{};
  std::copy(std::begin(gid.raw), std::end(gid.raw), raw.begin());
  return raw;
}

std::string address_text(const context::Gid& gid) { return facts::gid_address(gid).text(); }

void remember_gid(const ibv_context* context, unsigned port, unsigned index,
                  const context::Gid& gid) {
  const facts::VerbsGid told{.index = index, .raw = gid};
  remember_gids(context, port, {&told, 1});
}

void remember_gids(const ibv_context* context, unsigned port,
                   std::span<const facts::VerbsGid> told) {
  const std::lock_guard lock(g_mutex);
  std::vector<context::Gid>* gids = table_of(context, port);
  if (gids == nullptr) gids = &seen().emplace_back(PortGids{context, port, {}}).gids;
  for (const facts::VerbsGid& one : told) {
    if (one.index >= kMaxIndex) continue;
    if (gids->size() <= one.index) gids->resize(one.index + 1);
    (*gids)[one.index] = one.raw;
  }
}

bool recall_gid(const ibv_context* context, unsigned port, unsigned index, context::Gid& gid) {
  const std::lock_guard lock(g_mutex);
  const std::vector<context::Gid>* gids = table_of(context, port);
  if (gids == nullptr || index >= gids->size() || context::gid_zero((*gids)[index])) return false;
  gid = (*gids)[index];
  return true;
}

void forget_gids(const ibv_context* context) {
  const std::lock_guard lock(g_mutex);
  std::erase_if(seen(), [&](const PortGids& table) { return table.context == context; });
}

}  // namespace nnd::verbs

#include "verbs/gid.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "facts/ip.h"

namespace nnd::verbs {
namespace {

constexpr std::array<std::uint8_t, 12> kIpv4Mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// GIDs by their index, one table per port: a port may have hundreds.
struct PortGids {
  const ibv_context* context;
  unsigned port;
  std::vector<ibv_gid> gids;  // zero: not known
};
constexpr unsigned kMaxIndex = 65536;  // far above every HCA's table

context::ForkMutex g_mutex;
std::vector<PortGids>& seen() {
  static context::Immortal<std::vector<PortGids>> tables;
  return *tables;
}

std::vector<ibv_gid>* table_of(const ibv_context* context, unsigned port) {
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

bool is_zero(const ibv_gid& gid) noexcept {
  return std::all_of(std::begin(gid.raw), std::end(gid.raw), [](auto byte) { return byte == 0; });
}

bool is_ipv4(const ibv_gid& gid) noexcept {
  return std::memcmp(gid.raw, kIpv4Mapped.data(), kIpv4Mapped.size()) == 0;
}

bool is_link_local(const ibv_gid& gid) noexcept {
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

std::string gid_text(const ibv_gid& gid) { return context::gid_text(raw_of(gid)); }

std::string address_text(const ibv_gid& gid) { return facts::gid_address(raw_of(gid)).text(); }

void remember_gid(const ibv_context* context, unsigned port, unsigned index, const ibv_gid& gid) {
  if (index >= kMaxIndex) return;
  const std::lock_guard lock(g_mutex);
  std::vector<ibv_gid>* gids = table_of(context, port);
  if (gids == nullptr) gids = &seen().emplace_back(PortGids{context, port, {}}).gids;
  if (gids->size() <= index) gids->resize(index + 1);
  (*gids)[index] = gid;
}

bool recall_gid(const ibv_context* context, unsigned port, unsigned index, ibv_gid& gid) {
  const std::lock_guard lock(g_mutex);
  const std::vector<ibv_gid>* gids = table_of(context, port);
  if (gids == nullptr || index >= gids->size() || is_zero((*gids)[index])) return false;
  gid = (*gids)[index];
  return true;
}

void forget_gids(const ibv_context* context) {
  const std::lock_guard lock(g_mutex);
  std::erase_if(seen(), [&](const PortGids& table) { return table.context == context; });
}

}  // namespace nnd::verbs

#include "verbs/gid.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

namespace nnd::verbs {
namespace {

constexpr std::array<std::uint8_t, 12> kIpv4Mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

using GidKey = std::tuple<const ibv_context*, unsigned, unsigned>;
std::mutex g_mutex;
std::map<GidKey, ibv_gid>& seen() {
  static auto& map = *new std::map<GidKey, ibv_gid>;  // outlives every thread of NCCL's
  return map;
}

}  // namespace

bool is_zero(const ibv_gid& gid) noexcept {
  return std::all_of(std::begin(gid.raw), std::end(gid.raw), [](auto byte) { return byte == 0; });
}

bool is_ipv4(const ibv_gid& gid) noexcept {
  return std::memcmp(gid.raw, kIpv4Mapped.data(), kIpv4Mapped.size()) == 0;
}

bool is_link_local(const ibv_gid& gid) noexcept {
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

std::string gid_text(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, gid.raw, text.data(), text.size()) == nullptr ? "" : text.data();
}

std::string address_text(const ibv_gid& gid) {
  if (!is_ipv4(gid)) return gid_text(gid);
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, gid.raw + 12, text.data(), text.size()) == nullptr ? "" : text.data();
}

void remember_gid(const ibv_context* context, unsigned port, unsigned index, const ibv_gid& gid) {
  const std::lock_guard lock(g_mutex);
  seen()[{context, port, index}] = gid;
}

bool recall_gid(const ibv_context* context, unsigned port, unsigned index, ibv_gid& gid) {
  const std::lock_guard lock(g_mutex);
  const auto found = seen().find({context, port, index});
  if (found == seen().end()) return false;
  gid = found->second;
  return true;
}

void forget_gids(const ibv_context* context) {
  const std::lock_guard lock(g_mutex);
  std::erase_if(seen(), [&](const auto& entry) { return std::get<0>(entry.first) == context; });
}

}  // namespace nnd::verbs

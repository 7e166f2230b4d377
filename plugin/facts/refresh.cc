#include "facts/refresh.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "facts/hca.h"

namespace nnd::facts {

namespace {

// The slot that NCCL uses has what ibv_query_gid told it last.
void put(const SourceGid& source, Port& port) {
  if (source.index < 0 || context::gid_zero(source.raw)) return;
  const auto index = static_cast<unsigned>(source.index);
  auto slot = std::find_if(port.gids.begin(), port.gids.end(),
                           [index](const Gid& gid) { return gid.index == index; });
  if (slot == port.gids.end()) slot = port.gids.insert(slot, Gid());
  if (slot->raw == source.raw) return;
  *slot = Gid();
  slot->index = index;
  slot->raw = source.raw;
}

bool same_gids(const Port& a, const Port& b) {
  return std::equal(
      a.gids.begin(), a.gids.end(), b.gids.begin(), b.gids.end(),
      [](const Gid& x, const Gid& y) { return x.index == y.index && x.raw == y.raw; });
}

}  // namespace

std::optional<Node> refreshed(const Node& node, const SourceGid& source) {
  if (node.sysfs.empty()) return std::nullopt;
  Node out = node;
  out.network = read_network(node.sysfs);
  if (!out.network.known) return std::nullopt;
  const Environment none;
  const HcaContext context{FileTree(node.sysfs), FileTree(""), false,
                           out.network,          none,         node.nccl_version};
  for (Hca& hca : out.hcas) {
    for (Port& port : hca.ports)
      if (hca.name == source.device && port.number == source.port) put(source, port);
    read_gids_again(context, hca);
  }
  return out;
}

bool same_network(const Node& a, const Node& b) {
  return a.network.devs == b.network.devs && a.network.routes == b.network.routes &&
         std::equal(a.hcas.begin(), a.hcas.end(), b.hcas.begin(), b.hcas.end(),
                    [](const Hca& x, const Hca& y) {
                      return std::equal(x.ports.begin(), x.ports.end(), y.ports.begin(),
                                        y.ports.end(), same_gids);
                    });
}

NetworkChanges::NetworkChanges(std::string sysfs_root) {
  if (sysfs_root != "/sys") {
    file_ = std::move(sysfs_root) + "/nnd-netlink.json";
    seen_ = written_at();
    return;
  }
  fd_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups =
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  if (fd_ >= 0 && bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0) return;
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

NetworkChanges::~NetworkChanges() {
  if (fd_ >= 0) close(fd_);
}

bool NetworkChanges::any() noexcept {
  if (!file_.empty()) {
    const std::int64_t now = written_at();
    return seen_.exchange(now) != now;
  }
  bool news = false;
  std::array<char, 256> part{};  // what it says is of no interest
  while (fd_ >= 0) {
    if (recv(fd_, part.data(), part.size(), MSG_DONTWAIT | MSG_TRUNC) >= 0 || errno == ENOBUFS)
      news = true;
    else if (errno != EINTR)
      break;
  }
  return news;
}

std::int64_t NetworkChanges::written_at() const noexcept {
  struct stat about {};
  if (stat(file_.c_str(), &about) != 0) return 0;
  return about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
}

}  // namespace nnd::facts

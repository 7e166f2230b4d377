// rtnetlink dumps with a plain socket: the plugin may need no library but libc at run time.
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include "facts/netdev.h"
#include "facts/rtnetlink_parse.h"

namespace nnd::facts {

using namespace rtnetlink;

namespace {

constexpr std::size_t kMaxRoutes = 20000;
constexpr std::size_t kMaxNeighbours = 20000;
constexpr std::size_t kBufferSize = 64 * 1024;

class Socket {
 public:
  Socket() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)), buffer_(kBufferSize) {
    // The kernel answers at once; the limit is for a seccomp filter or a gVisor that does not.
    const timeval limit{0, 200 * 1000};
    if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Calls `take` for each message until it returns false (the rest is then read and thrown away).
  // Returns 0 or an errno.
  template <typename Body>
  int dump(std::uint16_t type, std::uint8_t family,
           const std::function<bool(const nlmsghdr&)>& take) {
    if (fd_ < 0) return EAFNOSUPPORT;
    struct {
      nlmsghdr header;
      Body body;
    } request{};
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof(Body));
    request.header.nlmsg_type = type;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.header.nlmsg_seq = ++sequence_;
    std::memcpy(&request.body, &family, sizeof family);  // the first byte of each of the bodies
    if (send(fd_, &request, request.header.nlmsg_len, 0) < 0) return errno;
    return receive(take);
  }

  // One question with one answer.
  template <typename Body>
  int ask(std::uint16_t type, const Body& body, const std::string& attributes,
          const std::function<void(const nlmsghdr&)>& take) {
    if (fd_ < 0) return EAFNOSUPPORT;
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof body) + attributes.size());
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST;
    header.nlmsg_seq = ++sequence_;
    std::string request(header.nlmsg_len, '\0');
    std::memcpy(request.data(), &header, sizeof header);
    std::memcpy(request.data() + NLMSG_HDRLEN, &body, sizeof body);
    attributes.copy(request.data() + NLMSG_LENGTH(sizeof body), attributes.size());
    if (send(fd_, request.data(), request.size(), 0) < 0) return errno;
    const ssize_t got = recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return got < 0 ? errno : EPIPE;
    return walk({buffer_.data(), static_cast<std::size_t>(got)}, sequence_, take).error;
  }

 private:
  int receive(const std::function<bool(const nlmsghdr&)>& take) {
    bool wanted = true;
    for (;;) {
      const ssize_t got = recv(fd_, buffer_.data(), buffer_.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got < 0 ? errno : EPIPE;
      const Walked walked = walk({buffer_.data(), static_cast<std::size_t>(got)}, sequence_,
                                 [&](const nlmsghdr& header) {
                                   if (wanted) wanted = take(header);
                                 });
      if (walked.over) return walked.error;
    }
  }

  int fd_;
  std::uint32_t sequence_ = 0;
  std::vector<char> buffer_;
};

std::string attribute(unsigned short type, const void* data, std::size_t size) {
  rtattr header{};
  header.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
  header.rta_type = type;
  std::string out(RTA_SPACE(size), '\0');
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + RTA_LENGTH(0), data, size);
  return out;
}

std::string attribute(unsigned short type, const IpAddress& address) {
  return attribute(type, address.bytes.data(), address.bits() / 8);
}

std::uint8_t family_of(const IpAddress& address) {
  return address.family == Family::kIpv4 ? AF_INET : AF_INET6;
}

}  // namespace

Hop ask_hop(const IpAddress& to, const IpAddress& from, int ifindex) {
  Hop out;
  Socket socket;
  rtmsg route{};
  route.rtm_family = family_of(to);
  route.rtm_dst_len = route.rtm_src_len = static_cast<std::uint8_t>(to.bits());
  out.error = socket.ask(RTM_GETROUTE, route,
                         attribute(RTA_DST, to) + attribute(RTA_SRC, from) +
                             attribute(RTA_OIF, &ifindex, sizeof ifindex),
                         [&](const nlmsghdr& h) { take_gateway(h, out.gateway); });
  if (out.error != 0) return out;
  ndmsg neighbour{};
  neighbour.ndm_family = family_of(to);
  neighbour.ndm_ifindex = ifindex;
  const IpAddress& next = out.gateway.family == Family::kNone ? to : out.gateway;
  const int error = socket.ask(RTM_GETNEIGH, neighbour, attribute(NDA_DST, next),
                               [&](const nlmsghdr& h) { take_state(h, out.neighbour); });
  if (error == ENOENT) out.neighbour = "none";
  return out;
}

Network read_rtnetlink() {
  Network network;
  Socket socket;
  std::vector<Relations> relations;
  const auto failed = [&network](const char* what, int error) {
    if (error == 0) return false;
    network.error += std::string(network.error.empty() ? "" : "; ") + "rtnetlink dump of " + what +
                     ": " + std::strerror(error);
    return true;
  };
  const bool no_links =
      failed("links", socket.dump<ifinfomsg>(RTM_GETLINK, AF_UNSPEC, [&](const nlmsghdr& h) {
        take_link(h, network, relations);
        return true;
      }));
  const bool no_addresses =
      failed("addresses", socket.dump<ifaddrmsg>(RTM_GETADDR, AF_UNSPEC, [&](const nlmsghdr& h) {
        take_address(h, network);
        return true;
      }));
  name_relations(relations, network);
  network.known = !no_links && !no_addresses;
  const auto take = [&](const nlmsghdr& h) {
    take_route(h, network);
    return network.routes.size() < kMaxRoutes;
  };
  const bool no_routes4 = failed("IPv4 routes", socket.dump<rtmsg>(RTM_GETROUTE, AF_INET, take));
  const bool no_routes6 = failed("IPv6 routes", socket.dump<rtmsg>(RTM_GETROUTE, AF_INET6, take));
  network.routes_complete = !no_routes4 && !no_routes6 && network.routes.size() < kMaxRoutes;
  failed("neighbours", socket.dump<ndmsg>(RTM_GETNEIGH, AF_UNSPEC, [&](const nlmsghdr& h) {
    take_neighbour(h, network);
    return network.neighbours.size() < kMaxNeighbours;
  }));
  finish(network);
  return network;
}

}  // namespace nnd::facts

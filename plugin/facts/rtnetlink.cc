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

}  // namespace

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

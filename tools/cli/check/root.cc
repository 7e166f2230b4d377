#include "cli/check/root.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/common/reach.h"
#include "facts/ip.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

class Socket {
 public:
  Socket(int family, int type) : fd_(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // 0, or the errno.
  int connect_to(const addrinfo& target) const {
    return ::connect(fd_, target.ai_addr, target.ai_addrlen) == 0 ? 0 : errno;
  }
  std::string own_address() const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    return text_of(reinterpret_cast<sockaddr*>(&address), size);
  }
  static std::string text_of(const sockaddr* address, socklen_t size) {
    std::array<char, NI_MAXHOST> text{};
    getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    return text.data();
  }

 private:
  int fd_;
};

std::string netdev_of(const std::string& address, const facts::Network& network) {
  const auto parsed = facts::parse_address(address);
  const auto* const dev = parsed ? network.owner(*parsed, nullptr) : nullptr;
  return dev != nullptr ? dev->name : std::string();
}

}  // namespace

std::optional<TcpAddress> root_address(const std::string& text) {
  return parse_tcp_address(text, "0");
}

RootTry try_root(const TcpAddress& root, const facts::Network& network) {
  RootTry out;
  const bool with_port = root.port != "0";
  out.root = with_port ? root.text() : root.host;
  const Addresses found = find_addresses(root, out.why);
  if (!found) return out;
  out.address = Socket::text_of(found->ai_addr, found->ai_addrlen);
  // A datagram socket's connect sends nothing, and chooses a way.
  const Socket way(found->ai_family, SOCK_DGRAM);
  if (const int error = way.connect_to(*found); error != 0) {
    out.why = std::strerror(error);
    return out;
  }
  out.source = way.own_address();
  out.netdev = netdev_of(out.source, network);
  out.own = out.source == out.address;
  if (!with_port) return out;
  const int error = reach({{out.address, root.port}}).front();
  out.outcome = connect_outcome(error);
  if (error != 0) out.why = std::strerror(error);
  return out;
}

std::string root_trouble(const RootTry& tried) {
  if (tried.address.empty())
    return fmt::format("The name of {} stands for no address here ({}): no rank can come there.",
                       tried.root, tried.why);
  if (tried.source.empty())
    return fmt::format("No route leads from here to {} ({}): {}.", tried.root, tried.address,
                       tried.why);
  if (tried.outcome == "silent")
    return fmt::format(
        "{} ({}) answers nothing within {} s: the host is down, or a firewall drops what comes.",
        tried.root, tried.address, kReachPatienceMs / 1000);
  if (tried.outcome == "unreachable")
    return fmt::format("{} ({}) can't be reached: {}.", tried.root, tried.address, tried.why);
  return {};
}

std::string root_warning(const RootTry& tried, const facts::OobPick& bootstrap) {
  if (tried.own || tried.netdev.empty() || bootstrap.netdev.empty() ||
      tried.netdev == bootstrap.netdev)
    return {};
  return fmt::format(
      "This node goes to {} by {} ({}), but its ranks give others the address of {} ({}), which "
      "these may not reach: NCCL_SOCKET_IFNAME=={} names the interface that leads there.",
      tried.root, tried.netdev, tried.source, bootstrap.netdev, bootstrap.address, tried.netdev);
}

json root_json(const std::optional<RootTry>& tried) {
  if (!tried) return {};
  const auto or_null = [](const std::string& text) { return text.empty() ? json() : json(text); };
  return {{"root", tried->root},
          {"address", or_null(tried->address)},
          {"source", or_null(tried->source)},
          {"netdev", or_null(tried->netdev)},
          {"own", tried->own},
          {"outcome", or_null(tried->outcome)},
          {"why", or_null(tried->why)}};
}

std::string root_text(const json& tried) {
  const auto text = [&](const char* key) {
    return tried.at(key).is_string() ? tried.at(key).get<std::string>() : std::string();
  };
  std::string out = fmt::format("{} ", text("root"));
  if (tried.at("own").get<bool>())
    out += "is this node";
  else if (text("source").empty())
    out += "can't be reached";
  else
    out += fmt::format("({}) is reached by {} {}", text("address"),
                       text("netdev").empty() ? "an unknown interface" : text("netdev"),
                       text("source"));
  const auto outcome = text("outcome");
  if (outcome == "listens")
    out += "; somebody listens at that port";
  else if (outcome == "refused")
    out += "; nobody listens at that port now, or a firewall refuses it";
  else if (!outcome.empty())
    out += fmt::format("; that port: {}", outcome);
  return out;
}

}  // namespace nnd::cli

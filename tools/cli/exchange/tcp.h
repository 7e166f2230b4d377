// Where the tool's processes meet: addresses that people type, and sockets that listen there.
#pragma once

#include <netdb.h>

#include <memory>
#include <optional>
#include <string>

namespace nnd::cli {

struct TcpAddress {
  std::string host, port;
  std::string text() const;  // "host:port", "[::1]:port"
};

// "host:port", "[::1]:port"; without a port too where there is a usual one. Nothing: no such thing.
std::optional<TcpAddress> parse_tcp_address(const std::string& text, const std::string& usual_port);

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// What the host's name stands for; of an empty one with AI_PASSIVE in `flags`, all of this host's
// addresses. Null: `why` says why not.
Addresses find_addresses(const TcpAddress& address, int flags, std::string& why);

// A socket that listens, without blocking, on the first address that can be bound. -1: `why`.
int listen_on(const Addresses& addresses, std::string& why);

}  // namespace nnd::cli

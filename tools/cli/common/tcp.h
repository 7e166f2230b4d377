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

// What the host's name stands for. Null: `why` says why not.
Addresses find_addresses(const TcpAddress& address, std::string& why);

// A socket that listens, without blocking, on the first address that can be bound; `address` is
// what the user said. A name that stands for a loopback address on its own host, as 127.0.1.1 in
// Debian's /etc/hosts, is another address on other hosts: then on all, as listen_on_all. -1: `why`.
int listen_on(const TcpAddress& address, const Addresses& found, std::string& why);

// The same on all of this host's addresses, of IPv4 and IPv6.
int listen_on_all(const std::string& port, std::string& why);

// Where a socket listens, also one that was bound to port 0.
std::string port_of(int fd);

}  // namespace nnd::cli

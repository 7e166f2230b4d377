// TCP connections of this network namespace, as /proc/net/tcp tells them: how far the connection is
// over which two ends of NCCL's transport set up their QPs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "context/gid.h"

namespace nnd::facts {

// An address as a GID has it: IPv4 as ::ffff:a.b.c.d.
struct TcpEnd {
  context::Gid address{};
  std::uint16_t port = 0;

  bool operator==(const TcpEnd&) const = default;
};

enum class TcpState : std::uint8_t {
  kUnknown,  // not to be seen here
  kNone,     // nobody has connected
  kTrying,   // SYN sent, no answer
  kMade,     // established, perhaps not accepted yet
  kHungUp    // it was, and the other end has closed it
};

// As the files were when it was made.
class TcpTable {
 public:
  // `root` is put before /proc.
  explicit TcpTable(const std::string& root = "");

  // Of a connection from this node to that end.
  TcpState to(const TcpEnd& listener) const;
  // Of a connection from anywhere to that end, which is of this node.
  TcpState from(const TcpEnd& listener) const;
  // The ports at which somebody listens.
  std::set<std::uint16_t> listening() const;

 private:
  struct Row {
    TcpEnd local, remote;
    unsigned state = 0;

    std::optional<TcpState> made() const;
  };
  static bool parse(std::string_view line, Row& row);
  void read(const std::string& path);

  std::vector<Row> rows_;
};

}  // namespace nnd::facts

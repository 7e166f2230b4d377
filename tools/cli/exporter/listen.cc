#include "cli/exporter/listen.h"

#include <fmt/format.h>

#include <optional>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/tcp.h"

namespace nnd::cli {

namespace {

// A port by itself is for this host's own programs.
std::optional<TcpAddress> address_of(const std::string& where) {
  const auto colon = where.find(':');
  if (colon == std::string::npos) return parse_tcp_address("127.0.0.1:" + where, "");
  const bool brackets = where.starts_with('[');
  if (brackets ? where.find("]:") == std::string::npos : where.rfind(':') != colon)
    return std::nullopt;
  return parse_tcp_address(where, "");
}

}  // namespace

Listening listen_for_scrapes(const std::string& where) {
  const auto address = address_of(where);
  if (!address)
    throw CallError(kWrongCall, "listen",
                    fmt::format("--listen {}: it takes a PORT, or ADDRESS:PORT, as 9988, "
                                "10.0.0.7:9988 or [::]:9988",
                                where),
                    where);
  const auto refuse = [&](const std::string& why) {
    return CallError(kNotExamined, "listen", fmt::format("--listen {}: {}", where, why), where);
  };
  std::string why;
  const auto found = find_addresses(*address, why);
  if (!found) throw refuse(why);
  const int fd = listen_on(*address, found, why);
  if (fd < 0) throw refuse(why);
  return {fd, fmt::format("http://{}/metrics", TcpAddress{address->host, port_of(fd)}.text())};
}

}  // namespace nnd::cli

#include "cli/ping/meeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/common/reach.h"

namespace nnd::cli {

MeetingListener::~MeetingListener() {
  if (fd_ >= 0) close(fd_);
}

std::string MeetingListener::listen_at(const std::string& address) {
  if (fd_ >= 0) close(fd_);
  std::string why;
  const Addresses found = find_addresses({address, "0"}, why);
  fd_ = found ? listen_on({address, "0"}, found, why) : -1;
  return fd_ < 0 ? "" : port_of(fd_);
}

std::string MeetingTry::outcome() const { return connect_outcome(error); }

std::string trouble_of(const MeetingTry& tried) {
  const std::string why =
      tried.error == ECONNREFUSED
          ? "the connection is refused, though it listens there: a firewall rejects it, or another "
            "machine has that address too"
      : tried.error == ETIMEDOUT
          ? fmt::format("nothing answers within {} s: a firewall drops it, or no way leads there",
                        kReachPatienceMs / 1000)
          : fmt::format("{} ({})", std::strerror(tried.error), tried.error);
  return fmt::format("{} does not reach {} where ranks would meet, at {} {} there: {}", tried.from,
                     tried.to, tried.netdev.empty() ? "?" : tried.netdev, tried.address, why);
}

std::string remedy_of(const MeetingTry& tried) {
  return fmt::format(
      "Open all TCP ports between the two, or set NCCL_SOCKET_IFNAME on all nodes to an interface "
      "by "
      "which they reach each other: {} would take {} now.",
      tried.to, tried.netdev.empty() ? tried.address : tried.netdev);
}

nlohmann::json to_json(const MeetingTry& tried) {
  return {{"from", tried.from},         {"to", tried.to},
          {"address", tried.address},   {"netdev", tried.netdev},
          {"outcome", tried.outcome()}, {"errno", tried.error}};
}

}  // namespace nnd::cli

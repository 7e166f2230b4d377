#include "cli/ping/meeting.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "cli/common/tcp.h"

namespace nnd::cli {

namespace {

using Clock = std::chrono::steady_clock;

// A connect that goes on; error: how it ended, EINPROGRESS while it does not.
struct Coming {
  int fd = -1;
  int error = 0;

  void begin(const MeetingPlace& place) {
    std::string why;
    const Addresses found = find_addresses({place.address, place.port}, why);
    if (!found) {
      error = EINVAL;
      return;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    error = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  }
  void look() {
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
};

int ms_until(Clock::time_point late) {
  return static_cast<int>(std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::milliseconds>(late - Clock::now()).count()));
}

}  // namespace

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

std::vector<int> reach(const std::vector<MeetingPlace>& places) {
  const auto late = Clock::now() + std::chrono::milliseconds(kMeetingPatienceMs);
  std::vector<Coming> all(places.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].begin(places[i]);
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Coming*> whose;
    for (Coming& one : all)
      if (one.error == EINPROGRESS) {
        waiting.push_back({one.fd, POLLOUT, 0});
        whose.push_back(&one);
      }
    if (waiting.empty() || poll(waiting.data(), waiting.size(), ms_until(late)) <= 0) break;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i].revents != 0) whose[i]->look();
  }
  std::vector<int> out;
  for (const Coming& one : all) {
    out.push_back(one.error == EINPROGRESS ? ETIMEDOUT : one.error);
    if (one.fd >= 0) close(one.fd);
  }
  return out;
}

std::string MeetingTry::outcome() const { return connect_outcome(error); }

std::string trouble_of(const MeetingTry& tried) {
  const std::string why =
      tried.error == ECONNREFUSED
          ? "the connection is refused, though it listens there: a firewall rejects it, or another "
            "machine has that address too"
      : tried.error == ETIMEDOUT
          ? fmt::format("nothing answers within {} s: a firewall drops it, or no way leads there",
                        kMeetingPatienceMs / 1000)
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

#include "cli/common/reach.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

namespace nnd::cli {

namespace {

using Clock = std::chrono::steady_clock;

// A connect that goes on; error: how it ended, EINPROGRESS while it does not.
struct Coming {
  int fd = -1;
  int error = 0;

  void begin(const TcpAddress& place) {
    std::string why;
    const Addresses found = find_addresses(place, why);
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

std::vector<int> reach(const std::vector<TcpAddress>& places) {
  const auto late = Clock::now() + std::chrono::milliseconds(kReachPatienceMs);
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

const char* connect_outcome(int error) {
  switch (error) {
    case 0:
      return "listens";
    case ECONNREFUSED:
      return "refused";
    case ECONNRESET:
      return "reset";
    case ETIMEDOUT:
      return "silent";
    default:
      return "unreachable";
  }
}

}  // namespace nnd::cli

#include "foreign/ras_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace nnd::foreign {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMost = std::size_t{64} << 20;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses addresses_of(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return nullptr;
  auto host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int rc = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &list);
  return Addresses(rc == 0 ? list : nullptr);
}

class Connection {
 public:
  Connection(Clock::time_point until, const std::atomic<bool>& stop) : until_(until), stop_(stop) {}
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool open(const addrinfo& to) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) return false;
    if (::connect(fd_, to.ai_addr, to.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS || !wait(POLLOUT)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  bool send(std::string_view text) {
    while (!text.empty()) {
      if (!wait(POLLOUT)) return false;
      const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    return true;
  }
  // Adds what has come. False: no more comes.
  bool receive(std::string& text) {
    std::array<char, 1 << 16> part;
    if (!wait(POLLIN)) return false;
    const auto got = ::recv(fd_, part.data(), part.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    text.append(part.data(), static_cast<std::size_t>(got));
    return got != 0 && text.size() <= kMost;
  }

 private:
  bool wait(short events) const {
    constexpr int kPauseMs = 50;
    pollfd one{fd_, events, 0};
    while (!stop_.load() && Clock::now() < until_)
      if (::poll(&one, 1, kPauseMs) > 0) return true;
    return false;
  }

  Clock::time_point until_;
  const std::atomic<bool>& stop_;
  int fd_ = -1;
};

}  // namespace

std::string ras_address() {
  const char* const given = std::getenv("NCCL_RAS_ADDR");
  return given != nullptr && *given != '\0' ? given : "localhost:28028";
}

// NCCL v2.28.9-1 src/ras/client.cc, src/ras/client_support.cc.
std::optional<std::string> ask_ras(const std::string& address, std::chrono::milliseconds patience,
                                   const std::atomic<bool>& stop) {
  Connection connection(Clock::now() + patience, stop);
  const auto found = addresses_of(address);
  const addrinfo* to = found.get();
  while (to != nullptr && !connection.open(*to)) to = to->ai_next;
  if (to == nullptr || !connection.send("CLIENT PROTOCOL 2\n")) return {};
  constexpr std::string_view kGreeting = "SERVER PROTOCOL ";
  std::string text;
  while (text.find('\n') == std::string::npos)
    if (!connection.receive(text) || !std::string_view(text).starts_with(kGreeting.substr(
                                         0, std::min(text.size(), kGreeting.size()))))
      return {};
  text.erase(0, text.find('\n') + 1);
  if (!connection.send("SET FORMAT json\nSTATUS\n")) return {};
  while (connection.receive(text)) continue;
  return may_be_ras_status(text) ? std::optional(std::move(text)) : std::nullopt;
}

RasClient::~RasClient() { stop_ = true; }

bool RasClient::look() {
  constexpr std::chrono::seconds kBetween{15};
  bool is_new = false;
  if (asked_.valid() && asked_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    constexpr std::size_t kKept = 2;
    const auto text = asked_.get();
    if (auto status = text ? read_ras_status("NCCL's RAS at " + address_, *text) : std::nullopt) {
      answers_.push_back(std::move(*status));
      if (answers_.size() > kKept) answers_.erase(answers_.begin());
      is_new = true;
    }
  }
  const auto now = Clock::now();
  if (asked_.valid() || (asked_at_ && now < *asked_at_ + kBetween)) return is_new;
  asked_at_ = now;
  asked_ = std::async(std::launch::async, [this] {
    constexpr std::chrono::seconds kPatience{15};
    return ask_ras(address_, kPatience, stop_);
  });
  return is_new;
}

}  // namespace nnd::foreign

#include "cli/exchange/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr int kTickMs = 50;
constexpr auto kFirstWordPatience = std::chrono::seconds(2);
constexpr auto kHandshakePatience = std::chrono::seconds(5);
constexpr std::size_t kMostPending = 64, kMostOfOneAddress = kMostPending / 2;
// Younger ones are not put out: whoever speaks at once is through by then.
constexpr auto kLeastStay = std::chrono::milliseconds(100);
// The listener may say its first message with its proof.
constexpr std::size_t kCallersLimit = 65536;

Addresses addresses_of(const TcpAddress& address, const char* error_kind) {
  std::string why;
  Addresses out = find_addresses(address, why);
  if (!out)
    throw CallError(kWrongCall, error_kind, fmt::format("{}: {}", address.text(), why),
                    address.text());
  return out;
}

std::string text_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                  nullptr, 0, NI_NUMERICHOST) != 0)
    return "an unknown address";
  const std::string_view text = host.data(), mapped = "::ffff:";  // IPv4 at an IPv6 socket
  return std::string(text.starts_with(mapped) ? text.substr(mapped.size()) : text);
}

// Connects within a second, or not at all: a host that drops packets must not hold up Ctrl-C.
int connect_in_time(const addrinfo& address, std::string& why) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    why = std::strerror(errno);
    return -1;
  }
  int error = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    constexpr int kPatienceMs = 1000;
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    socklen_t size = sizeof error;
    error = ETIMEDOUT;
    if (poll(&ready, 1, kPatienceMs) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return fd;
  why = std::strerror(error);
  close(fd);
  return -1;
}

// Takes what has come so far. False: the peer is gone.
bool take_lines(wire::LineSocket& socket, Handshake& handshake) {
  while (!handshake.done() && !handshake.failed()) {
    const auto line = socket.receive();
    if (!line) return !socket.closed();
    if (const auto answer = handshake.take(*line); !answer.empty()) socket.send(answer);
  }
  return true;
}

wire::JsonSocket sealed(wire::LineSocket socket, const Handshake& handshake) {
  return {std::move(socket), std::make_unique<Seal>(handshake.seal())};
}

}  // namespace

wire::JsonSocket call_listener(const TcpAddress& address, const Meeting& meeting, const json& about,
                               Clock::time_point deadline, const std::function<bool()>& stop) {
  std::string why = "no answer";
  const Addresses addresses = addresses_of(address, meeting.error_kind);
  for (;;) {
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      const int fd = connect_in_time(*one, why);
      if (fd < 0) continue;
      wire::LineSocket socket(fd, kCallersLimit);
      auto handshake = Handshake::caller(meeting.service, meeting.token, about);
      const auto patience = std::min(deadline, Clock::now() + kHandshakePatience);
      why = fmt::format("it does not answer as nccl-net-diag {} does", meeting.service);
      socket.send(handshake.begin());
      while (take_lines(socket, handshake) && !handshake.done() && !handshake.failed() && !stop() &&
             Clock::now() < patience)
        socket.wait(std::min(patience, Clock::now() + std::chrono::milliseconds(kTickMs)));
      if (handshake.done()) return sealed(std::move(socket), handshake);
      if (handshake.failed())
        throw CallError(kNotExamined, "refused",
                        fmt::format("{}: {}", address.text(), handshake.why()), address.text());
    }
    if (stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (Clock::now() >= deadline)
      throw CallError(kNotExamined, meeting.error_kind,
                      fmt::format("nobody was reached at {}: {}{}", address.text(), why,
                                  meeting.hint.empty() ? "" : "; " + meeting.hint),
                      address.text());
    poll(nullptr, 0, kTickMs);
  }
}

Listener::Listener(const TcpAddress& address, Meeting meeting) : meeting_(std::move(meeting)) {
  std::string why;
  fd_ = address.host.empty() ? listen_on_all(address.port, why)
                             : listen_on(address, addresses_of(address, meeting_.error_kind), why);
  if (fd_ < 0)
    throw CallError(kNotExamined, meeting_.error_kind,
                    fmt::format("cannot listen on {}: {}", address.text(), why), address.text());
}

Listener::~Listener() { close(fd_); }

std::string Listener::port() const { return port_of(fd_); }

// Puts out the oldest, of that address if one is given; before it those that have said nothing.
bool Listener::make_room(const std::string* address, const Refused& refused) {
  const auto old_enough = Clock::now() - kLeastStay;
  const auto find = [&](bool silent) {
    return std::find_if(pending_.begin(), pending_.end(), [&](const PendingPeer& peer) {
      return peer.since <= old_enough && (peer.silent || !silent) &&
             (address == nullptr || peer.address == *address);
    });
  };
  auto out = find(true);
  if (out == pending_.end()) out = find(false);
  if (out == pending_.end()) return false;
  tell(refused, fmt::format("Many connections from {} say nothing; the oldest ones are closed.",
                            out->address));
  pending_.erase(out);
  return true;
}

// False: there is none, or no place for it now.
bool Listener::let_one_in(const Refused& refused) {
  if (pending_.size() >= kMostPending && !make_room(nullptr, refused)) return false;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int fd = accept4(fd_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC);
  if (fd < 0) return false;
  wire::LineSocket socket(fd, kHelloLimit);
  const auto text = text_of(address, size);
  const auto same = static_cast<std::size_t>(
      std::count_if(pending_.begin(), pending_.end(),
                    [&](const PendingPeer& peer) { return peer.address == text; }));
  // Whoever is closed here and means it calls again.
  if (same < kMostOfOneAddress || make_room(&text, refused))
    pending_.push_back({std::move(socket), text,
                        Handshake::listener(meeting_.service, meeting_.token), Clock::now()});
  return true;
}

// What it has said so far. False: it is gone, or its time is over.
bool Listener::hear(PendingPeer& peer) {
  if (!take_lines(peer.socket, peer.handshake)) return false;
  peer.silent = peer.silent && !peer.handshake.begun();
  const auto patience = peer.silent ? kFirstWordPatience : kHandshakePatience;
  return Clock::now() < peer.since + patience;
}

// Whoever comes again and again fills no terminal and no file.
void Listener::tell(const Refused& refused, const std::string& sentence) {
  constexpr std::size_t kMostTold = 30;
  if (told_.size() > kMostTold || !told_.insert(sentence).second) return;
  refused(told_.size() <= kMostTold ? sentence
                                    : "Other connections that are refused are not told.");
}

std::optional<Listener::Caller> Listener::attend(const Refused& refused) {
  constexpr int kMostAtOnce = 256;
  for (int i = 0; i < kMostAtOnce; ++i) {
    for (auto at = pending_.begin(); at != pending_.end();) {
      const bool open = hear(*at);
      const auto& handshake = at->handshake;
      if (open && !handshake.done() && !handshake.failed()) {
        ++at;
        continue;
      }
      PendingPeer peer = std::move(*at);
      at = pending_.erase(at);
      if (peer.handshake.done())
        return Caller{sealed(std::move(peer.socket), peer.handshake), peer.handshake.about(),
                      peer.address};
      tell(refused, fmt::format("A connection from {} was refused: {}.", peer.address,
                                peer.handshake.failed() ? peer.handshake.why()
                                : peer.socket.closed()  ? peer.socket.why()
                                                        : "it said too little for too long"));
    }
    if (!let_one_in(refused)) break;
  }
  return std::nullopt;
}

}  // namespace nnd::cli

#include "foreign/ras_client.h"

#include <netdb.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "wire/bounded_socket.h"

namespace nnd::foreign {

namespace {

constexpr std::size_t kLongestAnswer = std::size_t{64} << 20;

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

}  // namespace

std::string ras_address() {
  const char* const given = std::getenv("NCCL_RAS_ADDR");
  return given != nullptr && *given != '\0' ? given : "localhost:28028";
}

// NCCL v2.28.9-1 src/ras/client.cc, src/ras/client_support.cc.
std::optional<std::string> ask_ras(const std::string& address, std::chrono::milliseconds patience,
                                   const std::atomic<bool>& stop) {
  wire::BoundedSocket connection(wire::BoundedSocket::Clock::now() + patience, stop);
  const auto found = addresses_of(address);
  const addrinfo* to = found.get();
  while (to != nullptr && connection.open(*to) != 0) to = to->ai_next;
  if (to == nullptr || connection.send("CLIENT PROTOCOL 2\n") != 0) return {};
  constexpr std::string_view kGreeting = "SERVER PROTOCOL ";
  std::string text;
  // False: no more comes.
  const auto receive = [&] {
    bool ended = false;
    return connection.receive(text, kLongestAnswer - text.size(), ended) == 0 && !ended;
  };
  while (text.find('\n') == std::string::npos)
    if (!receive() || !std::string_view(text).starts_with(
                          kGreeting.substr(0, std::min(text.size(), kGreeting.size()))))
      return {};
  text.erase(0, text.find('\n') + 1);
  if (connection.send("SET FORMAT json\nSTATUS\n") != 0) return {};
  while (receive()) continue;
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
  const auto now = std::chrono::steady_clock::now();
  if (asked_.valid() || (asked_at_ && now < *asked_at_ + kBetween)) return is_new;
  asked_at_ = now;
  asked_ = std::async(std::launch::async, [this] {
    constexpr std::chrono::seconds kPatience{15};
    return ask_ras(address_, kPatience, stop_);
  });
  return is_new;
}

}  // namespace nnd::foreign

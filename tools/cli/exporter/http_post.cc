#include "cli/exporter/http_post.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "cli/common/version.h"
#include "context/errno_text.h"
#include "wire/bounded_socket.h"

namespace nnd::cli {

namespace {

Posted none(std::string why) {
  Posted out;
  out.why = std::move(why);
  return out;
}
Posted none(int error) { return none("errno " + context::errno_text(error)); }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename T>
std::optional<T> number(std::string_view text) {
  T out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// "HTTP/1.1 200 OK"; 0: it is none.
unsigned status_of(std::string_view line) {
  constexpr std::size_t kBefore = 9, kDigits = 3;
  if (!line.starts_with("HTTP/1.") || line.size() < kBefore + kDigits) return 0;
  const unsigned status = number<unsigned>(line.substr(kBefore, kDigits)).value_or(0);
  return line[kBefore - 1] == ' ' && status >= 100 && status <= 599 ? status : 0;
}

}  // namespace

std::optional<Posted> read_answer(std::string_view text, bool ended) {
  for (;;) {
    const auto head_end = text.find("\r\n\r\n");
    if (head_end == std::string_view::npos) {
      // What begins otherwise becomes none.
      constexpr std::string_view kBegin = "HTTP/1.";
      const bool none_yet = kBegin.starts_with(text.substr(0, kBegin.size()));
      if (!ended && none_yet && text.size() < kMostAnswer) return std::nullopt;
      return none(text.empty() ? "it hangs up without an answer" : "it answers no HTTP");
    }
    std::string_view head = text.substr(0, head_end);
    text.remove_prefix(head_end + 4);
    Posted out;
    out.status = status_of(head.substr(0, head.find('\r')));
    if (out.status == 0) return none("it answers no HTTP");
    if (out.status < 200) continue;  // an interim answer
    std::optional<std::uint64_t> length;
    while (head.find("\r\n") != std::string_view::npos) {
      head.remove_prefix(head.find("\r\n") + 2);
      const std::string_view line = head.substr(0, head.find("\r\n"));
      const auto colon = std::min(line.find(':'), line.size());
      const std::string name = lower(line.substr(0, colon));
      const auto value = trimmed(line.substr(std::min(colon + 1, line.size())));
      if (name == "content-length") length = number<std::uint64_t>(value);
      if (name == "retry-after") out.retry_after_sec = number<unsigned>(value);
      if (name == "location") out.location = value;
    }
    constexpr unsigned kNoContent = 204;
    if (out.status == kNoContent) length = 0;
    if (!ended && text.size() < length.value_or(kMostAnswer)) return std::nullopt;
    out.body = text.substr(0, std::min<std::uint64_t>(length.value_or(kMostAnswer), text.size()));
    return out;
  }
}

Posted post_json(const HttpUrl& to, std::string_view body, std::chrono::milliseconds longest,
                 const std::atomic<bool>& stop) {
  std::string why;
  const Addresses found = find_addresses(to.at, why);
  if (!found) return none(why);
  wire::BoundedSocket connection(wire::BoundedSocket::Clock::now() + longest, stop);
  int error = EHOSTUNREACH;
  for (const addrinfo* one = found.get(); one != nullptr && error != 0; one = one->ai_next)
    error = connection.open(*one);
  if (error != 0) return none(error);
  const std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: nccl-net-diag/{}\r\nContent-Type: "
      "application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
      to.path, to.at.text(), tool_version(), body.size());
  error = connection.send(head);
  if (error == 0) error = connection.send(body);
  if (error == ETIMEDOUT) return none("it takes no more of what is sent");
  // Who refuses before all was sent says why.
  std::string text;
  for (;;) {
    bool ended = false;
    const int heard = connection.receive(text, kMostAnswer - text.size(), ended);
    const auto answer = read_answer(text, ended || heard != 0 || text.size() >= kMostAnswer);
    if (answer && (heard == 0 || answer->status != 0)) return *answer;
    if (heard == ETIMEDOUT) return none("it does not answer");
    if (heard != 0) return none(heard);
  }
}

}  // namespace nnd::cli

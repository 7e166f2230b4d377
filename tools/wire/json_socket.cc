#include "wire/json_socket.h"

namespace nnd::wire {

using nlohmann::json;

namespace {

// Brackets outside of strings; the library's own functions recurse into what is nested.
bool too_deep(std::string_view text) {
  constexpr int kDeepest = 32;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::optional<json> parse_message(std::string_view text) {
  if (too_deep(text)) return std::nullopt;
  auto message = json::parse(text, nullptr, false);
  return message.is_object() ? std::optional(std::move(message)) : std::nullopt;
}

std::string text_of(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

JsonSocket::JsonSocket(LineSocket socket, std::unique_ptr<Envelope> envelope)
    : socket_(std::move(socket)), envelope_(std::move(envelope)) {
  socket_.set_limit(kMessageLimit);
}

bool JsonSocket::send(const json& message) {
  auto line = text_of(message);
  if (envelope_) line = envelope_->close(line);
  return socket_.send(line + "\n");
}

std::optional<json> JsonSocket::receive() {
  auto line = socket_.receive();
  if (!line) return std::nullopt;
  const auto text = envelope_ ? envelope_->open(*line) : std::move(line);
  auto message = text ? parse_message(*text) : std::nullopt;
  if (!message) socket_.reject("what came was not its next message");
  return message;
}

std::optional<json> JsonSocket::receive(Clock::time_point deadline) {
  for (;;) {
    if (auto message = receive(); message || closed() || Clock::now() >= deadline) return message;
    wait(deadline);
  }
}

}  // namespace nnd::wire

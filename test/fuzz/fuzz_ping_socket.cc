// What may come over a ping's socket: before the proof from anybody, after it from the other side.
#include <string_view>

#include "cli/ping/request.h"
#include "cli/ping/seal.h"

namespace {

using namespace nnd::cli;

void shake(Handshake handshake, std::string_view bytes) {
  handshake.begin();
  LineBuffer lines(kHelloLimit);
  if (!lines.add(bytes)) return;
  while (const auto line = lines.take()) handshake.take(*line);
  // Nobody guesses a proof.
  if (handshake.done()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string token = "0123456789abcdef";
  shake(Handshake::listener(token), bytes);
  shake(Handshake::caller(token, nlohmann::json::object()), bytes);
  Seal seal("one key", "another key");
  LineBuffer lines(kMessageLimit);
  lines.add(bytes);
  while (const auto line = lines.take()) {
    if (seal.open(*line)) __builtin_trap();
    try {
      parse_ping_request(nlohmann::json::parse(*line, nullptr, false));
    } catch (const BadRequest&) {
    }
  }
  return 0;
}

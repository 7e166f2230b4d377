// What may come over a ping's socket: before the proof from anybody, after it from the other side.
#include <string_view>

#include "cli/exchange/seal.h"
#include "cli/ping/protocol.h"

namespace {

using namespace nnd::cli;

void shake(Handshake handshake, std::string_view bytes) {
  handshake.begin();
  nnd::wire::LineBuffer lines(kHelloLimit);
  if (!lines.add(bytes)) return;
  while (const auto line = lines.take()) handshake.take(*line);
  // Nobody guesses a proof.
  if (handshake.done()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string token = "0123456789abcdef";
  shake(Handshake::listener("ping", token), bytes);
  shake(Handshake::caller("ping", token, nlohmann::json::object()), bytes);
  Seal seal("one key", "another key");
  nnd::wire::LineBuffer lines(nnd::wire::kMessageLimit);
  lines.add(bytes);
  while (const auto line = lines.take()) {
    if (seal.open(*line)) __builtin_trap();
    const auto message = nnd::wire::parse_message(*line);
    if (!message) continue;
    const auto tries = [&](auto read) {
      try {
        read(*message);
      } catch (const BadMessage&) {
      }
    };
    tries([](const auto& said) { parse_ping_request(said); });
    tries([](const auto& said) { host_from(said); });
    tries([](const auto& said) { report_from(Fields(said)); });
  }
  return 0;
}

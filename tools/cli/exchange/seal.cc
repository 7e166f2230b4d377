#include "cli/exchange/seal.h"

#include <sodium.h>

#include <array>
#include <stdexcept>

#include "cli/common/printable.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr std::size_t kNonceBytes = 32;
constexpr std::size_t kMacDigits = 2 * crypto_auth_hmacsha256_BYTES;

void need_sodium() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium has no random numbers here");
}

std::string to_hex(const unsigned char* data, std::size_t size) {
  std::string out(2 * size + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), data, size);
  out.pop_back();
  return out;
}

std::string random_hex(std::size_t size) {
  need_sodium();
  std::array<unsigned char, kNonceBytes> bytes;
  randombytes_buf(bytes.data(), size);
  return to_hex(bytes.data(), size);
}

std::string mac(const std::string& key, std::string_view text) {
  need_sodium();
  crypto_auth_hmacsha256_state state;
  const auto bytes = [](const char* data) { return reinterpret_cast<const unsigned char*>(data); };
  crypto_auth_hmacsha256_init(&state, bytes(key.data()), key.size());
  crypto_auth_hmacsha256_update(&state, bytes(text.data()), text.size());
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> out;
  crypto_auth_hmacsha256_final(&state, out.data());
  return to_hex(out.data(), out.size());
}

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string line(const json& value) { return wire::text_of(value) + "\n"; }

// The text of a member, empty where it is missing or no text.
std::string text_of(const json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_nonce(const std::string& text) {
  return text.size() == 2 * kNonceBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string numbered(std::uint64_t number, std::string_view text) {
  return std::to_string(number) + " " + std::string(text);
}

// What a listener of another kind or a lying peer sends may be long or hold terminal codes.
std::string readable(const std::string& text) { return printable(text.substr(0, 200)); }

}  // namespace

std::string new_token() { return random_hex(16); }

std::string Seal::close(std::string_view text) {
  return mac(key_out_, numbered(sent_++, text)) + " " + std::string(text);
}

std::optional<std::string> Seal::open(std::string_view line) {
  if (line.size() <= kMacDigits || line[kMacDigits] != ' ') return std::nullopt;
  const auto text = line.substr(kMacDigits + 1);
  if (!same(line.substr(0, kMacDigits), mac(key_in_, numbered(received_, text))))
    return std::nullopt;
  ++received_;
  return std::string(text);
}

Handshake::Handshake(bool caller, const std::string& service, std::string token, json about)
    : caller_(caller),
      name_("nccl-net-diag " + service),
      hello_(name_ + " 2"),
      token_(std::move(token)),
      about_(std::move(about)),
      nonce_(random_hex(kNonceBytes)),
      step_(caller ? Step::kChallenge : Step::kHello) {}

Handshake Handshake::caller(const std::string& service, std::string token, json about) {
  Handshake out(true, service, std::move(token), std::move(about));
  out.caller_nonce_ = out.nonce_;
  return out;
}

Handshake Handshake::listener(const std::string& service, std::string token) {
  Handshake out(false, service, std::move(token), nullptr);
  out.listener_nonce_ = out.nonce_;
  return out;
}

std::string Handshake::proof(const char* who) const {
  return mac(token_, std::string(who) + "\n" + hello_ + "\n" + caller_nonce_ + "\n" +
                         listener_nonce_ + "\n" + wire::text_of(about_));
}

Seal Handshake::seal() const {
  auto caller_key = proof("caller's key"), listener_key = proof("listener's key");
  return caller_ ? Seal(caller_key, listener_key) : Seal(listener_key, caller_key);
}

std::string Handshake::fail(std::string why) {
  why_ = std::move(why);
  return caller_ ? "" : line({{"refused", why_}});
}

std::string Handshake::fail_as_foreign() { return fail("what it says is not " + name_); }

std::string Handshake::begin() {
  return caller_ ? line({{"hello", hello_}, {"nonce", nonce_}, {"about", about_}}) : "";
}

std::string Handshake::take(std::string_view text) {
  if (done() || failed()) return "";
  const auto said = wire::parse_message(text);
  if (!said) return fail_as_foreign();
  switch (step_) {
    case Step::kHello:
      return take_hello(*said);
    case Step::kChallenge:
      return take_challenge(*said);
    case Step::kProof:
      return take_proof(*said);
    case Step::kAnswer:
      return take_answer(*said);
    case Step::kDone:
      break;
  }
  return "";
}

std::string Handshake::take_hello(const json& said) {
  const auto hello = text_of(said, "hello");
  if (hello != hello_)
    return hello.starts_with(name_ + " ") ? fail("it is another release of " + name_)
                                          : fail_as_foreign();
  caller_nonce_ = text_of(said, "nonce");
  if (!is_nonce(caller_nonce_)) return fail_as_foreign();
  about_ = said.value("about", json::object());
  if (!about_.is_object()) return fail_as_foreign();
  step_ = Step::kProof;
  return line({{"nonce", nonce_}});
}

std::string Handshake::take_challenge(const json& said) {
  if (said.contains("refused")) return fail("it refuses: " + readable(text_of(said, "refused")));
  listener_nonce_ = text_of(said, "nonce");
  // A listener that sends our own nonce back wants our proof for itself.
  if (!is_nonce(listener_nonce_) || listener_nonce_ == nonce_) return fail_as_foreign();
  step_ = Step::kAnswer;
  return line({{"proof", proof("caller")}});
}

std::string Handshake::take_proof(const json& said) {
  if (!same(text_of(said, "proof"), proof("caller"))) return fail("the token is another one");
  step_ = Step::kDone;
  return line({{"proof", proof("listener")}});
}

std::string Handshake::take_answer(const json& said) {
  if (said.contains("refused")) return fail("it refuses: " + readable(text_of(said, "refused")));
  if (!same(text_of(said, "proof"), proof("listener")))
    return fail("it does not know the token either");
  step_ = Step::kDone;
  return "";
}

}  // namespace nnd::cli

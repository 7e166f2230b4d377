// How two processes on two hosts know each other: a token that both have and neither sends. No I/O.
//
//   caller    {"hello": "nccl-net-diag SERVICE 2", "nonce", "about": {...}}
//   listener  {"nonce"}
//   caller    {"proof": HMAC(token, caller, hello, both nonces, about)}
//   listener  {"proof": HMAC(token, listener, hello, both nonces, about)}, or {"refused": why}
//
// After it every message is a line "MAC JSON"; the MAC covers the message's number, under a key of
// this connection and direction. Messages are authentic, not secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "wire/json_socket.h"

namespace nnd::cli {

inline constexpr std::size_t kHelloLimit = 2048;   // bytes of a line, before the proof
inline constexpr std::size_t kShortestToken = 16;  // characters

std::string new_token();  // 128 random bits in hex

// What is around the messages of a connection after the proof, on one of its ends.
class Seal : public wire::Envelope {
 public:
  Seal(std::string key_out, std::string key_in)
      : key_out_(std::move(key_out)), key_in_(std::move(key_in)) {}

  std::string close(std::string_view text) override;
  std::optional<std::string> open(std::string_view line) override;

 private:
  std::string key_out_, key_in_;
  std::uint64_t sent_ = 0, received_ = 0;
};

class Handshake {
 public:
  // service: what is talked about afterwards, such as "ping". about: what the caller says of
  // itself, covered by its proof.
  static Handshake caller(const std::string& service, std::string token, nlohmann::json about);
  static Handshake listener(const std::string& service, std::string token);

  // What to send before anything has come; empty: nothing.
  std::string begin();
  // Takes the peer's line; what to send for it, empty: nothing. Call it until done() or failed().
  std::string take(std::string_view line);

  bool begun() const { return step_ != Step::kHello; }  // the peer has greeted
  bool done() const { return step_ == Step::kDone; }
  bool failed() const { return !why_.empty(); }
  const std::string& why() const { return why_; }         // one clause
  const nlohmann::json& about() const { return about_; }  // the caller, once done
  Seal seal() const;

 private:
  enum class Step { kHello, kChallenge, kProof, kAnswer, kDone };

  Handshake(bool caller, const std::string& service, std::string token, nlohmann::json about);
  std::string proof(const char* who) const;
  std::string fail(std::string why);
  std::string fail_as_foreign();
  std::string take_hello(const nlohmann::json& said);
  std::string take_challenge(const nlohmann::json& said);
  std::string take_proof(const nlohmann::json& said);
  std::string take_answer(const nlohmann::json& said);

  bool caller_;
  std::string name_, hello_;  // "nccl-net-diag ping", and with its version
  std::string token_;
  nlohmann::json about_;
  std::string nonce_, caller_nonce_, listener_nonce_, why_;
  Step step_;
};

}  // namespace nnd::cli

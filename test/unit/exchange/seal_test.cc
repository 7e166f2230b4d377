#include "cli/exchange/seal.h"

#include "support/catch.h"

using namespace nnd::cli;
using nlohmann::json;

namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";

std::string without_end(std::string line) {
  REQUIRE_FALSE(line.empty());
  CHECK(line.back() == '\n');
  line.pop_back();
  return line;
}

struct Ends {
  Handshake caller, listener;
};

// All four lines, each as it comes out.
Ends shake(const std::string& callers_token, const std::string& listeners_token) {
  Ends ends{Handshake::caller("ping", callers_token, {{"role", "conductor"}}),
            Handshake::listener("ping", listeners_token)};
  CHECK(ends.listener.begin().empty());
  const auto challenge = ends.listener.take(without_end(ends.caller.begin()));
  const auto proof = ends.caller.take(without_end(challenge));
  const auto answer = ends.listener.take(without_end(proof));
  CHECK(ends.caller.take(without_end(answer)).empty());
  return ends;
}

}  // namespace

TEST_CASE("two that know the token know each other, and what the caller says of itself") {
  auto [caller, listener] = shake(kToken, kToken);
  CHECK(caller.done());
  CHECK(listener.done());
  CHECK(listener.about() == json{{"role", "conductor"}});
  auto ours = caller.seal(), theirs = listener.seal();
  for (int i = 0; i < 3; ++i) {
    CHECK(theirs.open(ours.close("number " + std::to_string(i))) == "number " + std::to_string(i));
    CHECK(ours.open(theirs.close("back " + std::to_string(i))) == "back " + std::to_string(i));
  }
}

TEST_CASE("another token is refused, and both say so") {
  const auto [caller, listener] = shake(kToken, kToken + "0");
  CHECK(listener.failed());
  CHECK_FALSE(listener.done());
  CHECK(caller.failed());
  CHECK(caller.why().find("the token is another one") != std::string::npos);
}

TEST_CASE("a listener that doesn't know the token is found out") {
  auto caller = Handshake::caller("ping", kToken, json::object());
  caller.begin();
  CHECK_FALSE(caller.take(json{{"nonce", std::string(64, 'a')}}.dump()).empty());
  caller.take(json{{"proof", std::string(64, 'a')}}.dump());
  CHECK(caller.failed());
}

TEST_CASE("a caller's own nonce is no challenge") {
  auto caller = Handshake::caller("ping", kToken, json::object());
  const auto nonce = json::parse(caller.begin()).at("nonce");
  CHECK(caller.take(json{{"nonce", nonce}}.dump()).empty());
  CHECK(caller.failed());
}

TEST_CASE("the token is in no line") {
  auto caller = Handshake::caller("ping", kToken, json::object());
  auto listener = Handshake::listener("ping", kToken);
  const auto hello = caller.begin();
  const auto challenge = listener.take(without_end(hello));
  const auto proof = caller.take(without_end(challenge));
  const auto answer = listener.take(without_end(proof));
  caller.take(without_end(answer));
  REQUIRE(caller.done());
  for (const auto& line : {hello, challenge, proof, answer}) {
    CHECK_FALSE(line.empty());
    CHECK(line.find(kToken) == std::string::npos);
  }
}

TEST_CASE("lines of an earlier connection are worth nothing") {
  auto caller = Handshake::caller("ping", kToken, json::object());
  auto listener = Handshake::listener("ping", kToken);
  const auto hello = without_end(caller.begin());
  const auto proof = without_end(caller.take(without_end(listener.take(hello))));
  listener.take(proof);
  REQUIRE(listener.done());
  auto later = Handshake::listener("ping", kToken);
  later.take(hello);
  later.take(proof);
  CHECK(later.failed());
  // Nor is what the caller says of itself, changed on the way.
  auto other = Handshake::caller("ping", kToken, {{"role", "agent"}});
  auto third = Handshake::listener("ping", kToken);
  auto changed = json::parse(other.begin());
  changed["about"]["role"] = "conductor";
  third.take(without_end(other.take(without_end(third.take(changed.dump())))));
  CHECK(third.failed());
}

TEST_CASE("a proof for one service is none for another") {
  auto caller = Handshake::caller("rehearse", kToken, json::object());
  auto listener = Handshake::listener("ping", kToken);
  auto hello = json::parse(caller.begin());
  CHECK(json::parse(Handshake(listener).take(hello.dump())).contains("refused"));
  hello["hello"] = "nccl-net-diag ping 2";
  listener.take(without_end(caller.take(without_end(listener.take(hello.dump())))));
  CHECK(listener.failed());
}

TEST_CASE("a message counts once, in its place, as it was") {
  const auto [caller, listener] = shake(kToken, kToken);
  auto ours = caller.seal(), theirs = listener.seal();
  const auto first = ours.close("{\"number\":1}");
  const auto second = ours.close("{\"number\":2}");
  CHECK_FALSE(theirs.open(second));
  REQUIRE(theirs.open(first));
  CHECK_FALSE(theirs.open(first));
  auto changed = second;
  changed.back() = ' ';
  CHECK_FALSE(theirs.open(changed));
  CHECK(theirs.open(second));
  CHECK_FALSE(ours.open(second));  // what it said itself
}

TEST_CASE("garbage is refused and changes nothing") {
  for (const std::string text :
       {"", "GET / HTTP/1.1", "{}", "[]", "{\"hello\":1}", "{\"hello\":\"nccl-net-diag ping 2\"}",
        "{\"hello\":\"nccl-net-diag ping 2\",\"nonce\":\"zz\"}",
        "{\"hello\":\"nccl-net-diag ping 1\",\"nonce\":\"00\"}", "\xff\xfe\x00", "{\"a\":"}) {
    INFO(text);
    auto listener = Handshake::listener("ping", kToken);
    const auto answer = listener.take(text);
    CHECK(listener.failed());
    CHECK(json::parse(answer).contains("refused"));
    CHECK(listener.take(text).empty());
    auto caller = Handshake::caller("ping", kToken, json::object());
    caller.begin();
    CHECK(caller.take(text).empty());
    CHECK(caller.failed());
    const auto [one, other] = shake(kToken, kToken);
    auto seal = one.seal();
    CHECK_FALSE(seal.open(text));
  }
}

TEST_CASE("each new token is another one") {
  CHECK(new_token() != new_token());
  CHECK(new_token().size() == 32);
}

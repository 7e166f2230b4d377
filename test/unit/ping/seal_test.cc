#include "cli/ping/seal.h"
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
  Ends ends{Handshake::caller(callers_token, {{"role", "conductor"}}),
            Handshake::listener(listeners_token)};
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
    CHECK(theirs.open(without_end(ours.close({{"number", i}}))) == json{{"number", i}});
    CHECK(ours.open(without_end(theirs.close({{"back", i}}))) == json{{"back", i}});
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
  auto caller = Handshake::caller(kToken, json::object());
  caller.begin();
  CHECK_FALSE(caller.take(json{{"nonce", std::string(64, 'a')}}.dump()).empty());
  caller.take(json{{"proof", std::string(64, 'a')}}.dump());
  CHECK(caller.failed());
}

TEST_CASE("a caller's own nonce is no challenge") {
  auto caller = Handshake::caller(kToken, json::object());
  const auto nonce = json::parse(caller.begin()).at("nonce");
  CHECK(caller.take(json{{"nonce", nonce}}.dump()).empty());
  CHECK(caller.failed());
}

TEST_CASE("the token is in no line") {
  auto caller = Handshake::caller(kToken, json::object());
  auto listener = Handshake::listener(kToken);
  const auto hello = caller.begin();
  const auto challenge = listener.take(without_end(hello));
  const auto proof = caller.take(without_end(challenge));
  const auto answer = listener.take(without_end(proof));
  for (const auto& line : {hello, challenge, proof, answer})
    CHECK(line.find(kToken) == std::string::npos);
}

TEST_CASE("lines of an earlier connection are worth nothing") {
  auto caller = Handshake::caller(kToken, json::object());
  auto listener = Handshake::listener(kToken);
  const auto hello = without_end(caller.begin());
  const auto proof = without_end(caller.take(without_end(listener.take(hello))));
  listener.take(proof);
  REQUIRE(listener.done());
  auto later = Handshake::listener(kToken);
  later.take(hello);
  later.take(proof);
  CHECK(later.failed());
  // Nor is what the caller says of itself, changed on the way.
  auto other = Handshake::caller(kToken, {{"role", "agent"}});
  auto third = Handshake::listener(kToken);
  auto changed = json::parse(other.begin());
  changed["about"]["role"] = "conductor";
  third.take(without_end(other.take(without_end(third.take(changed.dump())))));
  CHECK(third.failed());
}

TEST_CASE("a message counts once, in its place, as it was") {
  const auto [caller, listener] = shake(kToken, kToken);
  auto ours = caller.seal(), theirs = listener.seal();
  const auto first = without_end(ours.close({{"number", 1}}));
  const auto second = without_end(ours.close({{"number", 2}}));
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
       {"", "GET / HTTP/1.1", "{}", "[]", "{\"hello\":1}", "{\"hello\":\"nccl-net-diag ping 1\"}",
        "{\"hello\":\"nccl-net-diag ping 1\",\"nonce\":\"zz\"}",
        "{\"hello\":\"nccl-net-diag ping 2\",\"nonce\":\"00\"}", "\xff\xfe\x00", "{\"a\":"}) {
    INFO(text);
    auto listener = Handshake::listener(kToken);
    const auto answer = listener.take(text);
    CHECK(listener.failed());
    CHECK(json::parse(answer).contains("refused"));
    CHECK(listener.take(text).empty());
    auto caller = Handshake::caller(kToken, json::object());
    caller.begin();
    CHECK(caller.take(text).empty());
    CHECK(caller.failed());
    const auto [one, other] = shake(kToken, kToken);
    auto seal = one.seal();
    CHECK_FALSE(seal.open(text));
  }
}

TEST_CASE("lines are cut where they end, and only up to the limit") {
  LineBuffer lines(8);
  CHECK(lines.add("one\ntw"));
  CHECK(lines.take() == "one");
  CHECK_FALSE(lines.take());
  CHECK(lines.add("o\n12345678\n"));
  CHECK(lines.take() == "two");
  CHECK(lines.take() == "12345678");
  CHECK_FALSE(lines.add("123456789"));
  CHECK_FALSE(lines.take());
  CHECK_FALSE(lines.add("\nx\n"));  // once broken, always
  CHECK_FALSE(lines.take());
  LineBuffer whole(8);
  whole.add("123456789\n");
  CHECK_FALSE(whole.take());
}

TEST_CASE("each new token is another one") {
  CHECK(new_token() != new_token());
  CHECK(new_token().size() == 32);
}

#include "record/pack.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "fixture.h"
#include "record/line.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

Json decoded(Pack& pack) { return Json::from_msgpack(pack.finish()); }

}  // namespace

TEST_CASE("pack: every kind of value comes back") {
  Pack p;
  p.add("text", std::string_view("x"));
  p.add("empty", std::string_view());
  p.add("yes", true);
  p.add("no", false);
  p.add("pi", 3.25);
  p.hex("hex", 0xdeadbeefcafe0001);
  p.hex("zero", 0);
  const std::uint64_t numbers[] = {0,     127,        128,        255,        256,  65535,
                                   65536, 0xFFFFFFFF, 1ull << 32, ~0ull >> 1, ~0ull};
  for (const std::uint64_t n : numbers) p.add_unsigned("u" + std::to_string(n), n);
  const std::int64_t below[] = {-1,   -32,    -33,
                                -128, -40000, std::numeric_limits<std::int64_t>::min()};
  for (const std::int64_t n : below) p.add_signed("s" + std::to_string(n), n);
  const Json j = decoded(p);
  CHECK(j["text"] == "x");
  CHECK(j["empty"] == "");
  CHECK(j["yes"] == true);
  CHECK(j["no"] == false);
  CHECK(j["pi"] == 3.25);
  CHECK(j["hex"] == "0xdeadbeefcafe0001");
  CHECK(j["zero"] == "0x0");
  for (const std::uint64_t n : numbers) CHECK(j["u" + std::to_string(n)] == n);
  for (const std::int64_t n : below) CHECK(j["s" + std::to_string(n)] == n);
  CHECK_FALSE(j.contains("cut"));
}

TEST_CASE("pack: keys of every length, of literals too; one that is too long is left out") {
  Pack p;
  for (const std::size_t n : {1u, 7u, 8u, 14u, 15u, 16u, 31u, 32u, 255u, 256u})
    p.add_unsigned(std::string(n, 'k'), n);
  p.add("literal", true);
  p.add("a literal of some length", true);
  p.add("\xC3\xA9", true);
  const Json j = decoded(p);
  for (const std::size_t n : {1u, 7u, 8u, 14u, 15u, 16u, 31u, 32u, 255u})
    CHECK(j[std::string(n, 'k')] == n);
  CHECK_FALSE(j.contains(std::string(256, 'k')));
  CHECK(j["cut"] == true);
  CHECK(j["literal"] == true);
  CHECK(j["a literal of some length"] == true);
  CHECK(j["\xC3\xA9"] == true);
}

TEST_CASE("pack: an array of as many items as there is room for is whole") {
  Pack p;
  p.open("list", true);
  for (std::size_t i = 0; i < Pack::kLargest; ++i) p.push("");
  const Json j = decoded(p);
  CHECK(j["list"].size() > Pack::kLargest - 64);
  CHECK(j["cut"] == true);
}

TEST_CASE("pack: objects and arrays nest, and open ones are closed") {
  Pack p;
  p.open("a", false);
  p.add_unsigned("b", 1);
  p.open("list", true);
  p.push("one");
  p.push_object();
  p.add_unsigned("x", 2);
  p.end();
  p.push("three");
  p.end();
  p.end();
  p.add_unsigned("c", 3);
  p.open("left", false);
  p.open("open", true);
  const Json j = decoded(p);
  CHECK(j["a"]["b"] == 1);
  CHECK(j["a"]["list"] == Json::parse(R"(["one",{"x":2},"three"])"));
  CHECK(j["c"] == 3);
  CHECK(j["left"]["open"].empty());
}

TEST_CASE("pack: strings of every length, long ones cut between two characters") {
  for (const std::size_t n : {1u, 31u, 32u, 255u, 256u, 8192u}) {
    Pack p;
    p.add("s", std::string_view(std::string(n, 'a')));
    CHECK(decoded(p)["s"].get<std::string>().size() == n);
  }
  std::string accents;
  while (accents.size() <= Pack::kLongestString) accents += "\xC3\xA9";
  Pack p;
  p.add("s", std::string_view(accents));
  const Json j = decoded(p);
  const auto text = j["s"].get<std::string>();
  CHECK(text.size() <= Pack::kLongestString);
  CHECK(text.ends_with("\xC3\xA9\xE2\x80\xA6"));
  CHECK(j["cut"] == true);
}

TEST_CASE("pack: what does not fit into 64 KiB is left out, and the map says so") {
  Pack p;
  const std::string text(1000, 'x');
  for (int i = 0; i < 200; ++i) {
    p.open("o" + std::to_string(i), false);
    p.add("s", std::string_view(text));
    p.end();
  }
  const std::string_view bytes = p.finish();
  CHECK(bytes.size() <= Pack::kLargest);
  const Json j = Json::from_msgpack(bytes);
  CHECK(j["cut"] == true);
  CHECK(j["o0"]["s"] == text);
  CHECK(j["o50"]["s"] == text);
  CHECK(j.size() < 200);
}

TEST_CASE("pack: more levels than there are leave the rest intact") {
  Pack p;
  for (int i = 0; i < 20; ++i) p.open("deep", false);
  p.add_unsigned("lost", 1);
  for (int i = 0; i < 20; ++i) p.end();
  p.end();  // one too many
  p.add_unsigned("kept", 1);
  const Json j = decoded(p);
  CHECK(j["kept"] == 1);
  CHECK(j["cut"] == true);
  CHECK(j["deep"]["deep"].is_object());
}

TEST_CASE("pack: a key in an array or none in an object is left out") {
  Pack p;
  p.open("list", true);
  p.add_unsigned("key", 1);
  p.push("ok");
  p.end();
  p.push("no key");
  const Json j = decoded(p);
  CHECK(j["list"] == Json::parse(R"(["ok"])"));
  CHECK(j.size() == 2);
  CHECK(j["cut"] == true);
}

TEST_CASE("line: common fields, wall time, replaced UTF-8") {
  const LineWriter lines("ho\"st", 42, 0xabc, 1'000'000'000, 1'700'000'000'123'456'789);
  Pack p;
  p.add("msg", std::string_view("bad \xFF utf"));
  p.add("nan", std::nan(""));
  std::string line;
  REQUIRE(lines.write(line, 9, nccl_net_diag::EventId::kWcError, nccl_net_diag::Severity::kError,
                      3'500'000'000, p.finish()));
  const Json j = Json::parse(line);
  CHECK(line.find('\n') == line.npos);
  CHECK(j["v"] == 1);
  CHECK(j["ts"] == "2023-11-14T22:13:22.623456789Z");
  CHECK(j["mono_ns"] == 3'500'000'000);
  CHECK(j["host"] == "ho\"st");
  CHECK(j["pid"] == 42);
  CHECK(j["proc"] == "0xabc");
  CHECK(j["seq"] == 9);
  CHECK(j["ev"] == "wc.error");
  CHECK(j["sev"] == "error");
  CHECK(j["msg"] == "bad \xEF\xBF\xBD utf");
  CHECK(j["nan"].is_null());
  Pack none;
  line.clear();
  REQUIRE(lines.write(line, 0, nccl_net_diag::EventId::kSummary, nccl_net_diag::Severity::kInfo, 0,
                      none.finish()));
  CHECK(Json::parse(line).size() == 9);
  for (const std::string_view broken : {"\x93\x01",
                                        "\x81\xa1"
                                        "a",
                                        "\x01",
                                        "\xa1"
                                        "a",
                                        "\x90"}) {
    CAPTURE(broken);
    CHECK_FALSE(lines.write(line, 0, nccl_net_diag::EventId::kSummary,
                            nccl_net_diag::Severity::kInfo, 0, broken));
  }
}

TEST_CASE("line: the fields read back as they were packed") {
  const LineWriter lines("host", 1, 2, 0, 0);
  Pack p;
  p.add("text", std::string_view("a \"quoted\\ line\n\x01 \xC3\xA9"));
  p.add("yes", true);
  p.add_signed("least", std::numeric_limits<std::int64_t>::min());
  p.add_unsigned("most", std::numeric_limits<std::uint64_t>::max());
  p.add("float", 3214.71);
  p.open("empty", false);
  p.end();
  p.open("list", true);
  p.push("one");
  p.push_object();
  p.add_unsigned("n", 1);
  p.open("none", true);
  p.end();
  p.end();
  p.push_object();
  p.end();
  p.push("two");
  p.end();
  p.add("last", std::string_view("x"));
  const Json fields = Json::from_msgpack(p.finish());
  std::string line;
  REQUIRE(lines.write(line, 9, nccl_net_diag::EventId::kWcError, nccl_net_diag::Severity::kError, 3,
                      p.finish()));
  const Json read = Json::parse(line);
  CHECK(read.size() == fields.size() + 9);
  for (const auto& [name, value] : fields.items()) CHECK(read[name] == value);
}

#include "foreign/torch_error.h"

#include "foreign/python_frame.h"
#include "support/catch.h"

using namespace nnd::foreign;

namespace {

const std::string kPath = "/logs/none_x/attempt_0/2/error.json";
const std::string kNew =
    R"({"message": {"message": "RuntimeError: shapes differ\nmore", "extraInfo": {"py_callstack": )"
    R"("Traceback (most recent call last):\n  File \"/x/torch/distributed/elastic/a.py\", line 3, in wrapper\n)"
    R"(    return f()\n  File \"/home/me/train.py\", line 212, in step\n    y = x\n)"
    R"(  File \"/x/lib/python3.11/site-packages/torch/nn/m.py\", line 9, in forward\nRuntimeError: shapes differ\n", )"
    R"("timestamp": "1795509000"}}})";

}  // namespace

TEST_CASE("an exception, where it was raised, when and of which rank", "[torch-error]") {
  CHECK(may_be_torch_error(kNew));
  const auto fact = read_torch_error(kPath, kNew);
  REQUIRE(fact);
  CHECK(fact->what == What::kRaised);
  CHECK(fact->source == Source::kErrorFile);
  CHECK(fact->text == "RuntimeError: shapes differ");
  CHECK(fact->place == "train.py:212 in step");
  CHECK(fact->at_sec == 1795509000);
  CHECK(fact->utc);
  CHECK(fact->writer.rank == 2);
  CHECK(read_torch_error("error.json", kNew)->writer.rank == std::nullopt);
  CHECK(read_torch_error("/logs/2x/error.json", kNew)->writer.rank == std::nullopt);
}

TEST_CASE("the older form, whose message is a text", "[torch-error]") {
  const auto fact =
      read_torch_error(kPath, R"({"message": "ValueError: no", "timestamp": 1795509000})");
  REQUIRE(fact);
  CHECK(fact->text == "ValueError: no");
  CHECK(fact->at_sec == 1795509000);
  CHECK(fact->place.empty());
}

TEST_CASE("JSON that is no error file", "[torch-error]") {
  for (const std::string other :
       {R"({"message": "a line of a log"})", R"({"message": {}})", R"({"message": {"message": 3}})",
        R"({"message": {"message": "x", "extraInfo": {"timestamp": "-5"}}})",
        R"({"message": "x", "timestamp": 9223372036854775807})", "{}", "[]", ""})
    CHECK_FALSE(read_torch_error(kPath, other));
  CHECK_FALSE(may_be_torch_error("message"));
  CHECK_FALSE(may_be_torch_error(R"({"level": "info"})"));
}

TEST_CASE("error files that break off, or were made to harm", "[torch-error]") {
  for (std::size_t length = 0; length < kNew.size(); ++length)
    CHECK_FALSE(read_torch_error(kPath, kNew.substr(0, length)));
  CHECK_FALSE(read_torch_error(kPath, R"({"message": )" + std::string(100'000, '[')));
  CHECK(frame_of_traceback("  File \"a.py\", line 99999999999999999999, in f").empty());
  CHECK(frame_of_traceback("  File \"a.py").empty());
}

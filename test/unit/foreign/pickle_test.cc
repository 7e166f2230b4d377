#include "foreign/pickle.h"

#include "support/catch.h"

using namespace nnd::foreign;
using Kind = PickleValue::Kind;
using namespace std::string_literals;

TEST_CASE("what PyTorch's pickler writes", "[pickle]") {
  // {"a": [1, 300, -2, 2**40, 0.5], "b": (True, None), "c": {}}
  const auto bytes =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01](K\x01M\x2c\x01J\xfe\xff\xff\xff\x8a\x08\x00\x00\x00\x00\x00\x01\x00\x00G\x3f\xe0\x00"
      "\x00\x00\x00\x00\x00"
      "eX\x01\x00\x00\x00"
      "b\x88N\x86X\x01\x00\x00\x00"
      "c}u."s;
  const Pickle pickle(bytes);
  const auto* const a = pickle.find(pickle.root(), "a");
  REQUIRE(a != nullptr);
  REQUIRE(a->items.size() == 5);
  CHECK(pickle.at(a->items[0]).number == 1);
  CHECK(pickle.at(a->items[1]).number == 300);
  CHECK(pickle.at(a->items[2]).number == -2);
  CHECK(pickle.at(a->items[3]).number == std::int64_t{1} << 40);
  CHECK(pickle.at(a->items[4]).real == 0.5);
  const auto* const b = pickle.find(pickle.root(), "b");
  REQUIRE(b != nullptr);
  REQUIRE(b->items.size() == 2);
  CHECK(pickle.at(b->items[0]).kind == Kind::kBool);
  CHECK(pickle.at(b->items[1]).kind == Kind::kNone);
  CHECK(pickle.find(pickle.root(), "c")->kind == Kind::kDict);
  CHECK(pickle.find(pickle.root(), "d") == nullptr);
}

TEST_CASE("what was kept comes back, and torch's typed lists are lists", "[pickle]") {
  const std::string twice = "\x80\x02(X\x01\x00\x00\x00xq\x05h\x05t."s;
  const Pickle kept(twice);
  REQUIRE(kept.root().items.size() == 2);
  CHECK(kept.at(kept.root().items[1]).text == "x");
  const Pickle typed(
      "\x80\x02"
      "ctorch.jit._pickle\nbuild_intlist\n(](K\x07"
      "etR."s);
  REQUIRE(typed.root().items.size() == 1);
  CHECK(typed.at(typed.root().items[0]).number == 7);
}

TEST_CASE("nothing is looked up or called, and nothing that breaks off is read", "[pickle]") {
  CHECK_THROWS_AS(Pickle("\x80\x02"
                         "cos\nsystem\n(X\x02\x00\x00\x00lstR."s),
                  PickleError);
  CHECK_THROWS_AS(Pickle("\x80\x02\x93."s), PickleError);  // STACK_GLOBAL
  CHECK_THROWS_AS(Pickle("\x80\x02}q"s), PickleError);
  CHECK_THROWS_AS(Pickle("\x80\x02X\xff\xff\xff\x7fx."s), PickleError);
  CHECK_THROWS_AS(Pickle("\x80\x02."s), PickleError);
  CHECK_THROWS_AS(Pickle("\x80\x02(u."s), PickleError);
  CHECK_THROWS_AS(Pickle("\x80\x02h\x01."s), PickleError);
}

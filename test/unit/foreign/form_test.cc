#include "foreign/form.h"

#include "support/catch.h"

using nnd::foreign::read_printed;
using Values = std::vector<std::string_view>;

TEST_CASE("a printed text gives back its values", "[form]") {
  const auto printed =
      read_printed("Call to %s failed with %02d, %s", "Call to x failed with 7, b c");
  CHECK(printed.whole);
  CHECK(printed.values == Values{"x", "7", "b c"});
  CHECK(read_printed("No device.", "No device.").whole);
  CHECK(read_printed("%s: Connect to %s failed", "f: Connect to 10.0.0.1 failed").values ==
        Values{"f", "10.0.0.1"});
}

TEST_CASE("of two conversions in a row the second has all", "[form]") {
  CHECK(read_printed("(%s)%s%s hca %s", "(Send) localGid a hca mlx5_0").values ==
        Values{"Send", "", " localGid a", "mlx5_0"});
}

TEST_CASE("another text, and one that breaks off", "[form]") {
  CHECK_FALSE(read_printed("Call to %s", "A call to x").whole);
  CHECK(read_printed("Call to %s", "A call to x").values.empty());
  const auto broken = read_printed("error %d, opcode %d", "error 12, opc");
  CHECK_FALSE(broken.whole);
  CHECK(broken.values == Values{"12"});
  CHECK(read_printed("errno %d", "errno 1", true).values.empty());  // of 110, perhaps
}

#include "config/plain_text.h"

#include "support/catch.h"

using namespace nnd::config;

TEST_CASE("what ends a line or steers a terminal is shown as question marks") {
  CHECK(plain("mlx5_0, Zürich, 日本") == "mlx5_0, Zürich, 日本");
  CHECK(is_plain("mlx5_0, Zürich, 日本"));
  CHECK(plain("a\nb\r\x1b[31m\x7f") == "a?b??[31m?");
  CHECK(plain("a\xc2\x9b"
              "2J\xc2\xa0\xc2") == "a??2J\xc2\xa0\xc2");
  for (const char* one : {"\n", "\t", "a\x1b", "\x7f", "\xc2\x80"}) CHECK_FALSE(is_plain(one));
}

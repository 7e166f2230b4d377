#include "context/utc.h"

#include <time.h>

#include <cstdint>
#include <tuple>

#include "support/catch.h"

TEST_CASE("UTC's calendar is libc's") {
  // The last second before and the first of: 1970, 29 February and 1 March 2000, 2038, 2100.
  for (const std::uint64_t start : {1u, 951782400u, 951868800u, 2147483648u, 4102444800u})
    for (const std::uint64_t at : {start - 1, start, start + 45296}) {
      const auto seconds = static_cast<time_t>(at);
      tm parts{};
      REQUIRE(::gmtime_r(&seconds, &parts) != nullptr);
      const nnd::context::Utc utc = nnd::context::utc(at);
      CHECK(std::tuple(utc.year - 1900, static_cast<int>(utc.month) - 1, static_cast<int>(utc.day),
                       static_cast<int>(utc.hour), static_cast<int>(utc.minute),
                       static_cast<int>(utc.second)) == std::tuple(parts.tm_year, parts.tm_mon,
                                                                   parts.tm_mday, parts.tm_hour,
                                                                   parts.tm_min, parts.tm_sec));
    }
}

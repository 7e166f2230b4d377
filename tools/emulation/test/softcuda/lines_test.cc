#include "softcuda/lines.h"

#include <cstring>
#include <vector>

#include "support/catch.h"

using namespace softcuda;

namespace {

constexpr std::size_t kSizes[] = {0, 1, 4, 7, 8, 120, 121, 1919, 3001};

alignas(128) char slot[8192];

std::vector<char> some_data(std::size_t bytes) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + 1);
  return data;
}

}  // namespace

TEST_CASE("lines are of NCCL's size") {
  CHECK(bytes_in_lines(Protocol::kLL, 0) == 0);
  CHECK(bytes_in_lines(Protocol::kLL, 1) == 16);
  CHECK(bytes_in_lines(Protocol::kLL, 9) == 32);
  CHECK(bytes_in_lines(Protocol::kLL128, 0) == 0);
  CHECK(bytes_in_lines(Protocol::kLL128, 1) == 2048);
  CHECK(bytes_in_lines(Protocol::kLL128, 1921) == 4096);
}

TEST_CASE("data goes through lines, once the flags are right") {
  for (const Protocol protocol : {Protocol::kLL, Protocol::kLL128})
    for (const std::size_t bytes : kSizes) {
      std::memset(slot, 0, sizeof slot);
      const auto data = some_data(bytes);
      std::vector<char> read(bytes);
      std::size_t done = 0;
      CHECK(read_lines(protocol, slot, read.data(), bytes, 5, &done) == (bytes == 0));
      write_lines(protocol, slot, data.data(), bytes, 5);
      CHECK_FALSE((bytes > 0 && read_lines(protocol, slot, read.data(), bytes, 6, &done)));
      CHECK(done == 0);
      CHECK(read_lines(protocol, slot, read.data(), bytes, 5, &done));
      CHECK(read == data);
    }
}

TEST_CASE("reading goes on where a line was missing") {
  for (const Protocol protocol : {Protocol::kLL, Protocol::kLL128}) {
    std::memset(slot, 0, sizeof slot);
    const auto data = some_data(1000);
    std::vector<char> read(1000);
    std::size_t done = 0;
    write_lines(protocol, slot, data.data(), 1000, 9);
    char* flag = slot + 3 * 128 + 124;  // its upper half, which LL128 has as 0
    char kept[4];
    std::memcpy(kept, flag, sizeof kept);
    std::memset(flag, 1, sizeof kept);
    CHECK_FALSE(read_lines(protocol, slot, read.data(), 1000, 9, &done));
    CHECK(done > 0);
    std::memcpy(flag, kept, sizeof kept);
    CHECK(read_lines(protocol, slot, read.data(), 1000, 9, &done));
    CHECK(read == data);
  }
}

TEST_CASE("every flag that the proxy looks at is there, also behind the data") {
  std::memset(slot, 0, sizeof slot);
  write_lines(Protocol::kLL128, slot, some_data(4).data(), 4, 3);
  for (std::size_t line = 0; line < 16; ++line) CHECK(slot[line * 128 + 120] == 3);
  write_lines(Protocol::kLL, slot, some_data(4).data(), 4, 4);
  CHECK(slot[4] == 4);
  CHECK(slot[12] == 4);
}

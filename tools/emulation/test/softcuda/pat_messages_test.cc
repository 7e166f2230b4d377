#include "softcuda/pat_messages.h"

#include <bit>
#include <vector>

#include "support/catch.h"

using namespace softcuda;

namespace {

constexpr ssize_t kChunk = 131072;

// Messages for each dimension, of all chunks together: what NCCL's proxy expects.
std::vector<int> counts(int nranks, ssize_t bytes, bool strided) {
  std::vector<int> out;
  const auto chunks = static_cast<int>((bytes + kChunk - 1) / kChunk);
  for (const PatMessage& message : pat_messages(nranks, kChunk, bytes, strided)) {
    const auto dimension = static_cast<std::size_t>(message.dimension);
    if (out.size() <= dimension) out.resize(dimension + 1);
    out[dimension] += chunks;
  }
  return out;
}

using Counts = std::vector<int>;

}  // namespace

// The numbers: what PatAGAlgorithm and PatRSAlgorithm of src/include/collectives.h count to.
TEST_CASE("PAT has as many messages as NCCL's proxy expects") {
  CHECK(counts(2, 500, false) == Counts{1});
  CHECK(counts(3, 1000000, false) == Counts{8, 8});
  CHECK(counts(9, 65536, false) == Counts{2, 1, 1, 1});
  CHECK(counts(9, 65536, true) == Counts{4, 2, 1, 1});  // 2.26 and newer, reduce-scatter
  CHECK(counts(16, 500, false) == Counts{1, 1, 1, 1});
  CHECK(counts(24, 65536, false) == Counts{6, 3, 2, 1, 1});
  CHECK(counts(24, 65536, true) == Counts{8, 4, 2, 1, 1});
  CHECK(counts(24, 1000000, true) == Counts{96, 48, 24, 8, 8});
  CHECK(counts(64, 16384, true) == Counts{4, 2, 1, 1, 1, 1});
}

TEST_CASE("every rank's data moves once, along the lowest bit of its distance, and fits a slot") {
  for (const bool strided : {false, true})
    for (int nranks = 2; nranks < 70; ++nranks)
      for (const ssize_t bytes : {1, 500, 16384, 65536, 1000000}) {
        std::vector<int> seen(static_cast<std::size_t>(nranks));
        int dimension = 0;
        for (const PatMessage& message : pat_messages(nranks, kChunk, bytes, strided)) {
          REQUIRE(message.dimension >= dimension);
          dimension = message.dimension;
          const auto pieces = static_cast<ssize_t>(message.distances.size());
          REQUIRE((pieces == 1 || pieces * bytes <= kChunk));
          for (const int distance : message.distances) {
            REQUIRE(std::countr_zero(static_cast<unsigned>(distance)) == dimension);
            ++seen.at(static_cast<std::size_t>(distance));
          }
        }
        for (std::size_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == (i == 0 ? 0 : 1));
      }
}

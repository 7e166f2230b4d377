#include "softcuda/function.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "softcuda/layouts.h"
#include "softcuda/reduce.h"
#include "support/catch.h"

using namespace softcuda;

TEST_CASE("names of device functions say what they do") {
  const auto reduce =
      parse_device_function("_Z43ncclDevFunc_ReduceScatter_MinMax_u64_RING_SIMPLEv");
  REQUIRE(reduce);
  CHECK(reduce->collective == Collective::kReduceScatter);
  CHECK(reduce->operation == Operation::kMinMax);
  CHECK(reduce->type == Type::kUint64);
  const auto gather = parse_device_function("ncclDevFunc_AllGather_RING_SIMPLE()");
  CHECK_FALSE(gather);  // not a name of a symbol table
  REQUIRE(parse_device_function("_Z33ncclDevFunc_AllGather_RING_SIMPLEv"));
  REQUIRE(parse_device_function("_Z20ncclDevFunc_SendRecvv"));
  CHECK(parse_device_function("_Z20ncclDevFunc_SendRecvv")->collective == Collective::kSendRecv);
  const auto lines = parse_device_function("_Z40ncclDevFunc_AllReduce_Sum_f32_RING_LL128v");
  REQUIRE(lines);
  CHECK(lines->algorithm == Algorithm::kRing);
  CHECK(lines->protocol == Protocol::kLL128);
  const auto tree = parse_device_function("_Z37ncclDevFunc_AllReduce_Sum_f32_TREE_LLv");
  REQUIRE(tree);
  CHECK(tree->algorithm == Algorithm::kTree);
  CHECK(tree->protocol == Protocol::kLL);
  const auto pat = parse_device_function("_Z45ncclDevFunc_ReduceScatter_Sum_f32_PAT_SIMPLEv");
  REQUIRE(pat);
  CHECK(pat->algorithm == Algorithm::kPat);
  CHECK(pat->collective == Collective::kReduceScatter);
  REQUIRE(parse_device_function("_Z32ncclDevFunc_AllGather_PAT_SIMPLEv"));
}

TEST_CASE("what isn't played has no function") {
  for (const char* name :
       {"_Z38ncclDevFunc_Reduce_Sum_f32_TREE_SIMPLEv",
        "_Z41ncclDevFunc_AllReduce_Sum_f32_NVLS_SIMPLEv",
        "_Z50ncclDevFunc_AllReduce_Sum_f32_COLLNET_CHAIN_SIMPLEv",
        "_Z42ncclDevFunc_AllReduce_Prod_f32_RING_SIMPLEv",
        "_Z41ncclDevFunc_AllReduce_Sum_f16_RING_SIMPLEv",
        "_Z42ncclDevFunc_AllReduce_Sum_bf16_RING_SIMPLEv",
        "_Z47ncclDevFunc_AllReduce_PreMulSum_f32_RING_SIMPLEv",
        "_Z34ncclDevFunc_AllGatherV_RING_SIMPLEv", "_Z40ncclDevFunc_AllReduce_Sum_f32_PAT_SIMPLEv",
        "_Z15ncclDevFunc_Nopv", ""})
    CHECK_FALSE(parse_device_function(name));
}

TEST_CASE("2.18's function numbers") {
  // 1 + types + ((((collective * operations + operation) * types + type) * algorithms + ring) *
  // protocols + simple)
  const auto index = [](unsigned collective, unsigned operation, unsigned type, unsigned algorithm,
                        unsigned protocol) {
    return 11 + ((((collective * 6 + operation) * 10 + type) * 6 + algorithm) * 3 + protocol);
  };
  REQUIRE(decode_function_index(0));
  CHECK(decode_function_index(0)->collective == Collective::kSendRecv);
  const auto max = decode_function_index(index(4, 2, 7, 1, 2));
  REQUIRE(max);
  CHECK(max->collective == Collective::kAllReduce);
  CHECK(max->operation == Operation::kMax);
  CHECK(max->type == Type::kFloat32);
  CHECK(max->protocol == Protocol::kSimple);
  REQUIRE(decode_function_index(index(4, 0, 7, 0, 0)));
  CHECK(decode_function_index(index(4, 0, 7, 0, 0))->algorithm == Algorithm::kTree);
  CHECK(decode_function_index(index(4, 0, 7, 0, 0))->protocol == Protocol::kLL);
  REQUIRE(decode_function_index(index(0, 0, 0, 1, 2)));
  CHECK(decode_function_index(index(0, 0, 0, 1, 2))->collective == Collective::kBroadcast);
  CHECK_FALSE(decode_function_index(5));                     // a reduction of one rank
  CHECK_FALSE(decode_function_index(index(0, 0, 0, 0, 2)));  // a broadcast by trees
  CHECK_FALSE(decode_function_index(index(4, 0, 7, 4, 2)));  // NVLS
  CHECK_FALSE(decode_function_index(index(4, 1, 7, 1, 2)));  // product
  CHECK_FALSE(decode_function_index(index(4, 0, 6, 1, 2)));  // half
  CHECK_FALSE(decode_function_index(index(5, 0, 7, 1, 2)));  // past the end
}

namespace {

template <typename T>
std::vector<T> reduced(Function function, std::uint64_t argument, std::vector<T> a,
                       const std::vector<T>& b) {
  reduce(function, argument, a.data(), a.data(), b.data(), a.size());
  return a;
}

Function all_reduce(Operation operation, Type type) {
  return {Collective::kAllReduce, operation, type};
}

}  // namespace

TEST_CASE("sums wrap, minimum and maximum know the sign") {
  using S = std::vector<std::int8_t>;
  CHECK(reduced<std::int8_t>(all_reduce(Operation::kSum, Type::kInt8), 0, {127, -128, 3},
                             {1, -1, 4}) == S{-128, 127, 7});
  CHECK(reduced<std::int8_t>(all_reduce(Operation::kMin, Type::kInt8), 0, {-5, 7}, {4, 6}) ==
        S{-5, 6});
  CHECK(reduced<std::int8_t>(all_reduce(Operation::kMax, Type::kInt8), 0, {-5, 7}, {4, 6}) ==
        S{4, 7});
  CHECK(reduced<double>(all_reduce(Operation::kSum, Type::kFloat64), 0, {0.5, -2}, {1, 1}) ==
        std::vector<double>{1.5, -1});
}

TEST_CASE("NCCL's mask turns the unsigned smaller into every extreme") {
  const std::vector<std::int32_t> a{-7, 5, std::numeric_limits<std::int32_t>::min()}, b{3, -6, 0};
  constexpr std::uint64_t kSign = 0x80000000, kAll = 0xffffffff;
  const auto function = all_reduce(Operation::kMinMax, Type::kUint32);
  CHECK(reduced(function, kSign, a, b) == std::vector<std::int32_t>{-7, -6, a[2]});
  CHECK(reduced(function, kSign ^ kAll, a, b) == std::vector<std::int32_t>{3, 5, 0});
  const std::vector<std::uint32_t> c{7, 0xfffffff0}, d{0x80000000, 3};
  CHECK(reduced(function, 0, c, d) == std::vector<std::uint32_t>{7, 3});
  CHECK(reduced(function, kAll, c, d) == std::vector<std::uint32_t>{0x80000000, 0xfffffff0});
  const auto floats = all_reduce(Operation::kMinMax, Type::kFloat32);
  CHECK(reduced<float>(floats, 0, {-1, 2}, {1, 1}) == std::vector<float>{-1, 1});
  CHECK(reduced<float>(floats, kAll, {-1, 2}, {1, 1}) == std::vector<float>{1, 2});
}

TEST_CASE("buffers needn't be aligned") {
  std::vector<char> block(64);
  const std::int64_t one = 1, two = 2;
  std::memcpy(block.data() + 1, &one, sizeof one);
  std::memcpy(block.data() + 11, &two, sizeof two);
  reduce(all_reduce(Operation::kSum, Type::kInt64), 0, block.data() + 21, block.data() + 1,
         block.data() + 11, 1);
  std::int64_t sum = 0;
  std::memcpy(&sum, block.data() + 21, sizeof sum);
  CHECK(sum == 3);
}

TEST_CASE("versions that nobody looked at have no layout") {
  CHECK(find_layout(22809) != nullptr);
  CHECK(find_layout(21803)->style == WorkStyle::kRounds);
  CHECK(find_layout(22105)->style == WorkStyle::kParts);
  CHECK(find_layout(23203)->style == WorkStyle::kBatches);
  for (const int unknown : {0, 21703, 22005, 22203, 23102, 23204, 24000})
    CHECK(find_layout(unknown) == nullptr);
}

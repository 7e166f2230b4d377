#include "softcuda/function.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "softcuda/half.h"
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

TEST_CASE("types of 16 bits, and what becomes an average, are known by name") {
  const auto sum = parse_device_function("_Z42ncclDevFunc_AllReduce_Sum_bf16_RING_SIMPLEv");
  REQUIRE(sum);
  CHECK(sum->type == Type::kBfloat16);
  const auto scaled = parse_device_function("_Z47ncclDevFunc_AllReduce_PreMulSum_f16_RING_SIMPLEv");
  REQUIRE(scaled);
  CHECK(scaled->operation == Operation::kPreMulSum);
  CHECK(scaled->type == Type::kFloat16);
  const auto divided = parse_device_function("_Z48ncclDevFunc_Reduce_SumPostDiv_u8_RING_SIMPLEv");
  REQUIRE(divided);
  CHECK(divided->operation == Operation::kSumPostDiv);
}

TEST_CASE("what isn't played has no function") {
  for (const char* name :
       {"_Z38ncclDevFunc_Reduce_Sum_f32_TREE_SIMPLEv",
        "_Z41ncclDevFunc_AllReduce_Sum_f32_NVLS_SIMPLEv",
        "_Z50ncclDevFunc_AllReduce_Sum_f32_COLLNET_CHAIN_SIMPLEv",
        "_Z42ncclDevFunc_AllReduce_Prod_f32_RING_SIMPLEv",
        "_Z45ncclDevFunc_AllReduce_Sum_f8e4m3_RING_SIMPLEv",
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
  CHECK_FALSE(decode_function_index(index(4, 1, 7, 1, 2)));  // a product
  CHECK_FALSE(decode_function_index(index(4, 5, 2, 1, 2)));  // a sum of integers, divided
  REQUIRE(decode_function_index(index(4, 4, 6, 1, 2)));
  CHECK(decode_function_index(index(4, 4, 6, 1, 2))->operation == Operation::kPreMulSum);
  CHECK(decode_function_index(index(4, 4, 6, 1, 2))->type == Type::kFloat16);
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

TEST_CASE("numbers of 16 bits round to the nearest, ties to even") {
  CHECK(float{Bfloat16(1.00390625F)} == 1.0F);        // half a unit above 1: to even
  CHECK(float{Bfloat16(1.01171875F)} == 1.015625F);   // one and a half: to even, up
  CHECK(float{Bfloat16(1.00390636F)} == 1.0078125F);  // more than half
  CHECK(float{Bfloat16(-3.0F)} == -3.0F);
  CHECK(std::isinf(float{Bfloat16(3.4e38F)}));
  CHECK(std::isnan(float{Bfloat16(std::nanf(""))}));
  CHECK(float{Float16(1.0F / 3)} == 0.333251953125F);
  CHECK(float{Float16(0.0F)} == 0.0F);
  CHECK(std::signbit(float{Float16(-0.0F)}));
  CHECK(float{Bfloat16(0.0F)} == 0.0F);
  CHECK(float{Float16(2049.0F)} == 2048.0F);
  CHECK(float{Float16(2051.0F)} == 2052.0F);
  CHECK(float{Float16(65504.0F)} == 65504.0F);
  CHECK(std::isinf(float{Float16(65520.0F)}));
  CHECK(float{Float16(5.9604644775390625e-8F)} == 5.9604644775390625e-8F);  // the smallest
  CHECK(float{Float16(2.0e-8F)} == 0.0F);
  CHECK(std::isnan(float{Float16(std::nanf(""))}));
}

TEST_CASE("an average is a scaled sum of floats and a divided sum of integers") {
  const std::vector<float> a{2, -6};
  std::vector<float> scaled(2);
  const auto premul = all_reduce(Operation::kPreMulSum, Type::kFloat32);
  scale(premul, std::bit_cast<std::uint32_t>(0.5F), scaled.data(), a.data(), 2);
  CHECK(scaled == std::vector<float>{1, -3});
  const auto divided = all_reduce(Operation::kSumPostDiv, Type::kUint32);
  std::vector<std::int32_t> sums{-9, 9};
  finish(divided, 4 << 1 | 1, sums.data(), 2);
  CHECK(sums == std::vector<std::int32_t>{-2, 2});
  std::vector<std::uint32_t> large{4000000000U};
  finish(divided, 4 << 1, large.data(), 1);
  CHECK(large.front() == 1000000000U);
  finish(all_reduce(Operation::kSum, Type::kUint32), 4 << 1, large.data(), 1);
  CHECK(large.front() == 1000000000U);
}

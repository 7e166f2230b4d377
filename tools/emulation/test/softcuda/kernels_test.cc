// PyTorch's kernels as launches hand them over: parameters laid out as the framework lays them out.
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "softcuda/kernels/kernel_name.h"
#include "softcuda/kernels/offsets.h"
#include "softcuda/kernels/operation.h"
#include "softcuda/kernels/played.h"
#include "support/catch.h"

using namespace softcuda;

namespace {

constexpr const char* kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul>, false>(int, at::native::CUDAFunctor_add<float>, std::array<char*, "
    "3ul>)";

}  // namespace

TEST_CASE("a kernel's name is taken apart, mangled or not") {
  const TemplateName plain = parse_kernel_name(kAdd);
  CHECK(plain.name == "vectorized_elementwise_kernel");
  REQUIRE(plain.arguments.size() == 4);
  CHECK(plain.arguments[1] == "at::native::CUDAFunctor_add<float>");
  const TemplateName mangled = parse_kernel_name(
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
      "11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_"
      "T1_");
  CHECK(mangled.name == "vectorized_elementwise_kernel");
  CHECK(mangled.arguments.at(1) == "at::native::FillFunctor<float>");
  const auto parts = split_list("int, f<a, b>, (x, y)::{lambda(float)#1}");
  CHECK(parts == std::vector<std::string>{"int", "f<a, b>", "(x, y)::{lambda(float)#1}"});
}

TEST_CASE("contiguous tensors are added with a factor") {
  std::array<float, 3> out{}, a{1, 2, 3}, b{10, 20, 30};
  int count = 3;
  float factor = -0.5F;
  std::array<void*, 3> data{out.data(), a.data(), b.data()};
  std::array<void*, 3> parameters{&count, &factor, data.data()};
  const auto work = elementwise_work(parse_kernel_name(kAdd), {{1, 1, 1}, parameters.data()});
  REQUIRE(work);
  CHECK(out == std::array<float, 3>{});
  work();
  CHECK(out == std::array<float, 3>{-4, -8, -12});
}

TEST_CASE("functors say what they compute, or aren't played") {
  const std::array<float, 4> held{0, 4, 0, 0};  // a functor's byte, then its scalar
  const auto* state = reinterpret_cast<const char*>(held.data());
  const auto scaled = parse_operation(
      "at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
      "at::native::binary_internal::MulFunctor<float> >",
      state);
  REQUIRE(scaled);
  CHECK(scaled->out == Element::kBfloat16);
  const double three = 3;
  CHECK(scaled->fractions(&three) == 12);
  const auto sum =
      parse_operation("at::native::CUDAFunctor_add<long>", "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
  REQUIRE(sum);
  const std::array<std::int64_t, 2> large{std::int64_t{1} << 60, 1};  // more than a double holds
  CHECK(sum->integers(large.data()) == (std::int64_t{1} << 60) + 1);
  CHECK_FALSE(parse_operation("at::native::CUDAFunctor_add<std::complex<float> >", state));
  CHECK_FALSE(parse_operation("at::native::f(int)::{lambda(float)#1}", state));
}

TEST_CASE("offsets follow sizes and strides") {
  // Two dimensions of 3 and 2, the first innermost: 12 bytes a number of sizes, 4 a stride.
  std::array<char, Offsets::bytes(2)> calculator{};
  const auto put = [&](std::size_t at, std::uint32_t value) {
    std::memcpy(&calculator[at], &value, sizeof value);
  };
  constexpr std::size_t kStrides = 4 + 25 * 12;
  put(0, 2);
  put(4, 3);
  put(16, 2);
  put(kStrides, 4);       // innermost, first tensor
  put(kStrides + 4, 0);   // innermost, second: the same for all
  put(kStrides + 8, 12);  // outer
  put(kStrides + 12, 4);
  const Offsets offsets(calculator.data(), 2);
  CHECK(offsets.at(5, 0) == 20);
  CHECK(offsets.at(5, 1) == 4);
  CHECK(Offsets().at(5, 0) == 0);
}

TEST_CASE("what isn't one of the kernels has no work") {
  const TemplateName other = parse_kernel_name("void cublas::gemm<float>(int)");
  for (const auto read : {elementwise_work, reduction_work, joining_work, list_work, chunk_work})
    CHECK_FALSE(read(other, {{1, 1, 1}, nullptr}));
}

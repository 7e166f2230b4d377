// Which collective, operation and type a device function of NCCL's is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softcuda {

enum class Collective : std::uint8_t {
  kSendRecv,
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce
};
enum class Algorithm : std::uint8_t { kRing, kTree, kPat };
enum class Protocol : std::uint8_t { kLL, kLL128, kSimple };  // numbered as NCCL_PROTO_...
// An average (kAverage, in jobs only) is for a kernel a sum of what was multiplied before by a
// scalar (kPreMulSum), or of integers divided at the end (kSumPostDiv). Products (kProduct) are
// asked for by jobs, and no kernel of them is played.
enum class Operation : std::uint8_t {
  kNone,
  kSum,
  kProduct,
  kMin,
  kMax,
  kMinMax,
  kPreMulSum,
  kSumPostDiv,
  kAverage
};
enum class Type : std::uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64
};

int size_of(Type type);
std::string_view name_of(Algorithm algorithm);  // as NCCL_ALGO has it
std::string_view name_of(Protocol protocol);    // as NCCL_PROTO has it

struct Function {
  Collective collective = Collective::kSendRecv;
  Operation operation =
      Operation::kNone;  // kMinMax: which of the two is in the work's scalar argument
  Type type = Type::kInt8;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
};

// From 2.19: "ncclDevFunc_AllReduce_MinMax_u32_RING_SIMPLE" (mangled or not). Empty when it is none
// that is played: neither a ring nor an all-reduce by trees nor PAT, another operation or type.
std::optional<Function> parse_device_function(std::string_view name);

// 2.18, whose work carries a number instead: FUNC_INDEX of src/include/collectives.h, inverted.
// Empty as above.
std::optional<Function> decode_function_index(unsigned index);

}  // namespace softcuda

// The texts of what profiler v1 tells as numbers, as later versions have them (NCCL v2.23.4-1
// src/include/nccl_common.h and src/nccl.h.in; v2.24.3-1 src/misc/utils.cc).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nnd::profiler {

inline constexpr std::array kFunctions = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                          "AllReduce", "SendRecv", "Send",      "Recv"};
inline constexpr std::array kDatatypes = {
    "ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
inline constexpr std::array kAlgorithms = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
inline constexpr std::array kProtocols = {"LL", "LL128", "SIMPLE"};

template <std::size_t kCount>
const char* text(const std::array<const char*, kCount>& texts, std::uint8_t number) noexcept {
  return number < kCount ? texts[number] : "?";
}

inline const char* text(const auto&, const char* text) noexcept { return text; }

}  // namespace nnd::profiler

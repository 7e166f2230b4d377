// A handle comes from another process, perhaps of another version or without the shim.
#include <array>
#include <cstring>

#include "nccl_abi/common.h"
#include "net/handle.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::array<unsigned char, nccl_abi::kHandleSize> handle{};
  std::memcpy(handle.data(), data, size < handle.size() ? size : handle.size());
  nnd::net::read_trailer(handle.data());
  return 0;
}

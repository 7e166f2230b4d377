// The exported GIN table. Its slots but for init are filled by the first init: see inner/gin.h.
#include "inner/gin.h"
#include "nccl_abi/gin_v11.h"

namespace {

nccl_abi::Result init(void** ctx, std::uint64_t comm_id, nccl_abi::DebugLogger log);

}  // namespace

extern "C" {
__attribute__((visibility("default"))) nccl_abi::GinV11 ncclGinPlugin_v11 = {
    "GIN_IB", init,    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr,  nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
}

namespace {

nccl_abi::Result init(void** ctx, std::uint64_t comm_id, nccl_abi::DebugLogger log) {
  return nnd::inner::init_gin(ncclGinPlugin_v11, ctx, comm_id, log, __builtin_return_address(0));
}

}  // namespace

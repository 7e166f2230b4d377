#include "nccl_api.h"

#include <dlfcn.h>

namespace softcuda {

int nccl_type(Type type) {
  switch (type) {
    case Type::kInt8:
      return 0;
    case Type::kUint8:
      return 1;
    case Type::kInt32:
      return 2;
    case Type::kUint32:
      return 3;
    case Type::kInt64:
      return 4;
    case Type::kUint64:
      return 5;
    case Type::kFloat16:
      return 6;
    case Type::kBfloat16:
      return 9;
    case Type::kFloat32:
      return 7;
    case Type::kFloat64:
      return 8;
  }
  return 0;
}

int nccl_operation(Operation what) {
  switch (what) {
    case Operation::kNone:
    case Operation::kSum:
      return 0;
    case Operation::kProduct:
      return 1;
    case Operation::kMax:
      return 2;
    case Operation::kMin:
      return 3;
    case Operation::kAverage:
      return 4;
    case Operation::kMinMax:
    case Operation::kPreMulSum:
    case Operation::kSumPostDiv:
      break;  // a kernel's, not a caller's
  }
  return 0;
}

std::string NcclApi::load(void* handle) {
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    void* address = dlsym(handle, name);
    if (address == nullptr && missing.empty()) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(get_version, "ncclGetVersion");
  find(get_unique_id, "ncclGetUniqueId");
  find(comm_init_rank, "ncclCommInitRank");
  find(comm_split, "ncclCommSplit");
  find(comm_finalize, "ncclCommFinalize");
  find(comm_destroy, "ncclCommDestroy");
  find(comm_abort, "ncclCommAbort");
  find(comm_count, "ncclCommCount");
  find(comm_user_rank, "ncclCommUserRank");
  find(async_error, "ncclCommGetAsyncError");
  find(error_string, "ncclGetErrorString");
  find(last_error, "ncclGetLastError");
  find(group_start, "ncclGroupStart");
  find(group_end, "ncclGroupEnd");
  find(send, "ncclSend");
  find(recv, "ncclRecv");
  find(all_reduce, "ncclAllReduce");
  find(all_gather, "ncclAllGather");
  find(reduce_scatter, "ncclReduceScatter");
  find(broadcast, "ncclBroadcast");
  find(reduce, "ncclReduce");
  const std::string needed = missing;
  find(comm_shrink, "ncclCommShrink");
  find(dev_comm_create, "ncclDevCommCreate");
  find(dev_comm_destroy, "ncclDevCommDestroy");
  return needed;
}

}  // namespace softcuda

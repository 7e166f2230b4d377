// ncclGin_v11_t: device-initiated networking, as NCCL 2.28.7 ... 2.29.3 take it from the net
// library (ncclGinPlugin_v11). 2.29.7 and 2.30.3 still look for the symbol, but have newer tables
// of their own; from 2.30.7 on nobody asks. Source: NCCL v2.28.9-1
// src/include/plugin/net/net_v11.h, v2.29.7-1 src/include/plugin/gin/gin_v11.h. Our own
// declarations, members in NCCL's spelling.
#pragma once

#include "nccl_abi/common.h"
#include "nccl_abi/net_v11.h"

namespace nccl_abi {

// Values of NCCL_GIN_TYPE, which are those of NetDeviceType; -1: NCCL chooses.
inline constexpr int kGinTypeAny = -1;
inline constexpr int kGinTypeProxy = static_cast<int>(NetDeviceType::kGinProxy);
inline constexpr int kGinTypeGdaki = static_cast<int>(NetDeviceType::kGinGdaki);

namespace slot {
using GinInit = Result(void** ctx, std::uint64_t comm_id, DebugLogger log);
using GinConnect = Result(void* ctx, void* handles[], int nranks, int rank, void* listen_comm,
                          void** coll_comm);
using GinCreateContext = Result(void* coll_comm, int nsignals, int ncounters, void** gin_ctx,
                                NetDeviceHandle** dev_handle);
using GinRegMr = Result(void* coll_comm, void* data, std::size_t size, int type,
                        std::uint64_t mr_flags, void** mhandle, void** gin_handle);
using GinRegMrDmaBuf = Result(void* coll_comm, void* data, std::size_t size, int type,
                              std::uint64_t offset, int fd, std::uint64_t mr_flags, void** mhandle,
                              void** gin_handle);
using GinIput = Result(void* coll_comm, std::uint64_t src_off, void* src_mhandle, std::size_t size,
                       std::uint64_t dst_off, void* dst_mhandle, std::uint32_t rank,
                       void** request);
using GinIputSignal = Result(void* coll_comm, std::uint64_t src_off, void* src_mhandle,
                             std::size_t size, std::uint64_t dst_off, void* dst_mhandle,
                             std::uint32_t rank, std::uint64_t signal_off, void* signal_mhandle,
                             std::uint64_t signal_value, std::uint32_t signal_op, void** request);
using GinTest = Result(void* coll_comm, void* request, int* done);
using GinQueryLastError = Result(void* gin_ctx, bool* has_error);
}  // namespace slot

// In the order of the table. A slot is null where the backend has no such function.
struct GinV11 {
  const char* name;
  slot::GinInit* init;
  slot::Devices* devices;
  slot::GetProperties<NetPropertiesV11>* getProperties;
  slot::Listen11* listen;
  slot::GinConnect* connect;
  slot::GinCreateContext* createContext;
  slot::GinRegMr* regMrSym;
  slot::GinRegMrDmaBuf* regMrSymDmaBuf;
  slot::DeregMr* deregMrSym;
  slot::Close* destroyContext;
  slot::Close* closeColl;
  slot::Close* closeListen;
  slot::GinIput* iput;
  slot::GinIputSignal* iputSignal;
  slot::GinTest* test;
  slot::Close* ginProgress;
  slot::GinQueryLastError* queryLastError;
  slot::Finalize* finalize;
};
static_assert(sizeof(GinV11) == 152);
static_assert(offsetof(GinV11, regMrSym) == 56);
static_assert(offsetof(GinV11, finalize) == 144);

}  // namespace nccl_abi

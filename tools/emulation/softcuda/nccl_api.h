// The functions of a loaded libnccl that a job calls, found by name. Our own declarations: nccl.h,
// the same since 2.18.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string>

#include "function.h"

namespace softcuda {

using NcclComm = void*;
struct NcclUniqueId {
  std::array<char, 128> bytes;
};

enum NcclResult : int { kNcclSuccess = 0, kNcclInProgress = 7 };

int nccl_type(Type type);            // ncclDataType_t
int nccl_operation(Operation what);  // ncclRedOp_t; kSum for those that have none

// ncclDevCommRequirements (v2.28.9-1 src/include/nccl_device/core.h): GIN, and nothing of it, since
// later releases take that from a program of an older one.
struct DevCommRequirements {
  void *resources = nullptr, *teams = nullptr;
  bool multimem = false;
  int barriers = 0, lsa_barriers = 0, gin_barriers = 0;
  int ll_a2a_blocks = 0, ll_a2a_slots = 0;
  bool force_gin = true;
  int gin_contexts = 4, gin_signals = 0, gin_counters = 0;
};
// The same from 2.29.2 on, with what 2.29.7 and 2.30.3 added (v2.30.3-1, the same file).
struct SizedDevCommRequirements {
  std::size_t size = sizeof(SizedDevCommRequirements);
  unsigned magic = 0xcafebeef, version;
  DevCommRequirements requirements{};
  int gin_connection = 0;
  bool gin_exclusive = false;
  int gin_queue_depth = 0;
  int gin_traffic_class = INT_MIN;  // NCCL's own
  int world_gin_barriers = 0;
};

struct NcclApi {
  int (*get_version)(int* version);
  int (*get_unique_id)(NcclUniqueId* id);
  int (*comm_init_rank)(NcclComm* comm, int nranks, NcclUniqueId id, int rank);
  int (*comm_split)(NcclComm comm, int color, int key, NcclComm* split, void* config);
  int (*comm_shrink)(NcclComm comm, int* excluded, int count, NcclComm* made, void* config,
                     int flags);  // null before 2.27
  int (*comm_finalize)(NcclComm comm);
  int (*comm_destroy)(NcclComm comm);
  int (*comm_abort)(NcclComm comm);
  int (*comm_count)(NcclComm comm, int* count);
  int (*comm_user_rank)(NcclComm comm, int* rank);
  int (*async_error)(NcclComm comm, int* error);
  const char* (*error_string)(int error);
  const char* (*last_error)(NcclComm comm);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void* from, std::size_t count, int type, int peer, NcclComm comm, void* stream);
  int (*recv)(void* to, std::size_t count, int type, int peer, NcclComm comm, void* stream);
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int op, NcclComm comm,
                    void* stream);
  int (*all_gather)(const void* from, void* to, std::size_t count, int type, NcclComm comm,
                    void* stream);
  int (*reduce_scatter)(const void* from, void* to, std::size_t count, int type, int op,
                        NcclComm comm, void* stream);
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root, NcclComm comm,
                   void* stream);
  int (*reduce)(const void* from, void* to, std::size_t count, int type, int op, int root,
                NcclComm comm, void* stream);

  // 2.28 and newer; null before.
  int (*dev_comm_create)(NcclComm comm, const void* requirements, void* made);
  int (*dev_comm_destroy)(NcclComm comm, const void* made);

  // handle: from dlopen. Returns the name of the first function that is missing, or an empty text.
  std::string load(void* handle);
};

}  // namespace softcuda

// A net transport (a plugin's table, or a built-in one of libnccl) behind one interface for all
// versions of the net API, called as NCCL of that version would call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/caller.h"
#include "nccl_abi/common.h"

namespace nnd::driver {

// ncclNetProperties_vN_t of any version; what the version doesn't have is empty.
struct Properties {
  std::string name;
  std::optional<std::string> pci_path;  // empty: null
  std::uint64_t guid = 0;
  int ptr_support = 0;
  int speed_mbps = 0;
  int port = 0;
  float latency_us = 0;
  int max_comms = 0;
  int max_recvs = 0;
  std::optional<int> reg_is_global, force_flush, device_type, device_version;
  std::optional<std::vector<int>> virtual_devices;
  std::optional<std::size_t> max_p2p_bytes, max_coll_bytes;
  std::optional<int> max_multi_request, rail_id, plane_id;
};

struct InitArguments {
  std::uint64_t comm_id = 0;
  int traffic_class = nccl_abi::kUndefined;
  nccl_abi::DebugLogger logger = nullptr;
  nccl_abi::ProfilerCallback profiler = nullptr;
};

// Not owned: the table lives in its library. Results are ncclResult_t (0: success). Arguments that
// a version doesn't have are left out. Thread-safety is that of the transport.
class NetApi {
 public:
  virtual ~NetApi() = default;

  virtual int version() const = 0;
  virtual const char* name() const = 0;
  // Names of the slots that are null, in the table's order.
  virtual std::vector<std::string> null_slots() const = 0;

  virtual int init(void** ctx, const InitArguments& arguments) = 0;
  virtual int devices(int* count) = 0;
  virtual int get_properties(int dev, Properties* out) = 0;
  virtual int listen(void* ctx, int dev, void* handle, void** listen_comm) = 0;
  virtual int connect(void* ctx, int dev, void* handle, void** send_comm) = 0;
  virtual int accept(void* listen_comm, void** recv_comm) = 0;
  virtual int reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) = 0;
  virtual int dereg_mr(void* comm, void* mhandle) = 0;
  virtual int isend(void* comm, void* data, std::size_t size, int tag, void* mhandle,
                    void** request) = 0;
  virtual int irecv(void* comm, int n, void** data, const std::size_t* sizes, int* tags,
                    void** mhandles, void** request) = 0;
  virtual int iflush(void* comm, int n, void** data, int* sizes, void** mhandles,
                     void** request) = 0;
  virtual int test(void* request, int* done, int* sizes) = 0;
  virtual int close_send(void* comm) = 0;
  virtual int close_recv(void* comm) = 0;
  virtual int close_listen(void* comm) = 0;

  // False: this version has none, or its slot is null; calling it then throws Error.
  virtual bool has_make_vdevice() const = 0;
  virtual int make_vdevice(int* dev, const std::vector<int>& members) = 0;
  virtual bool has_finalize() const = 0;
  virtual int finalize(void* ctx) = 0;
  virtual bool has_set_net_attr() const = 0;
  virtual int set_net_attr(void* ctx) = 0;  // with nothing defined
};

// `table` is an ncclNet_vN_t. Control calls are made through `caller`. Null for an unknown version.
std::unique_ptr<NetApi> make_net_api(int version, const void* table, Caller caller);

}  // namespace nnd::driver

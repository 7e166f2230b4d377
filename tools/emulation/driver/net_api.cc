#include "driver/net_api.h"

#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "driver/error.h"
#include "nccl_abi/net.h"

namespace nnd::driver {

namespace {

namespace slot = nccl_abi::slot;

// The properties struct that a table's getProperties takes.
template <class P>
P properties_of(slot::GetProperties<P>*);

template <class T>
constexpr bool is_null(const T& pointer) {
  return pointer == nullptr;
}

int narrow(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error("this version of the net API has 31-bit sizes");
  return static_cast<int>(size);
}

template <class Table>
class NetApiOf final : public NetApi {
  using Props = decltype(properties_of(std::declval<Table>().getProperties));
  using Init = decltype(Table::init);
  using Listen = decltype(Table::listen);
  using Connect = decltype(Table::connect);
  using Accept = decltype(Table::accept);
  using RegMr = decltype(Table::regMr);
  using Isend = decltype(Table::isend);
  using Irecv = decltype(Table::irecv);

 public:
  NetApiOf(int version, const void* table, Caller caller)
      : version_(version), table_(*static_cast<const Table*>(table)), call_(caller) {}

  int version() const override { return version_; }
  const char* name() const override { return table_.name; }

  std::vector<std::string> null_slots() const override {
    std::vector<std::string> out;
    const auto note = [&out](auto pointer, const char* slot_name) {
      if (is_null(pointer)) out.emplace_back(slot_name);
    };
    note(table_.init, "init");
    note(table_.devices, "devices");
    note(table_.getProperties, "getProperties");
    note(table_.listen, "listen");
    note(table_.connect, "connect");
    note(table_.accept, "accept");
    note(table_.regMr, "regMr");
    note(table_.regMrDmaBuf, "regMrDmaBuf");
    note(table_.deregMr, "deregMr");
    note(table_.isend, "isend");
    note(table_.irecv, "irecv");
    note(table_.iflush, "iflush");
    note(table_.test, "test");
    note(table_.closeSend, "closeSend");
    note(table_.closeRecv, "closeRecv");
    note(table_.closeListen, "closeListen");
    if constexpr (requires { table_.getDeviceMr; }) {
      note(table_.getDeviceMr, "getDeviceMr");
      note(table_.irecvConsumed, "irecvConsumed");
    }
    if constexpr (requires { table_.makeVDevice; }) note(table_.makeVDevice, "makeVDevice");
    if constexpr (requires { table_.finalize; }) {
      note(table_.finalize, "finalize");
      note(table_.setNetAttr, "setNetAttr");
    }
    return out;
  }

  int init(void** ctx, const InitArguments& arguments) override {
    if constexpr (std::is_same_v<Init, slot::Init6*>) {
      return result(call_(table_.init, arguments.logger));
    } else if constexpr (std::is_same_v<Init, slot::Init10*>) {
      config_.trafficClass = arguments.traffic_class;
      return result(call_(table_.init, arguments.logger, arguments.profiler));
    } else {
      nccl_abi::NetCommConfig config{arguments.traffic_class};
      return result(call_(table_.init, ctx, arguments.comm_id, &config, arguments.logger,
                          arguments.profiler));
    }
  }

  int devices(int* count) override { return result(call_(table_.devices, count)); }

  int get_properties(int dev, Properties* out) override {
    Props props{};
    const int rc = result(call_(table_.getProperties, dev, &props));
    if (rc == 0) translate(props, out);
    return rc;
  }

  int listen(void* ctx, int dev, void* handle, void** listen_comm) override {
    if constexpr (std::is_same_v<Listen, slot::Listen6*>)
      return result(call_(table_.listen, dev, handle, listen_comm));
    else
      return result(call_(table_.listen, ctx, dev, handle, listen_comm));
  }

  int connect(void* ctx, int dev, void* handle, void** send_comm) override {
    nccl_abi::NetDeviceHandle* device_handle = nullptr;
    if constexpr (std::is_same_v<Connect, slot::Connect6*>)
      return result(table_.connect(dev, handle, send_comm));
    else if constexpr (std::is_same_v<Connect, slot::Connect7*>)
      return result(table_.connect(dev, handle, send_comm, &device_handle));
    else if constexpr (std::is_same_v<Connect, slot::Connect10*>)
      return result(table_.connect(dev, &config_, handle, send_comm, &device_handle));
    else
      return result(table_.connect(ctx, dev, handle, send_comm, &device_handle));
  }

  int accept(void* listen_comm, void** recv_comm) override {
    if constexpr (std::is_same_v<Accept, slot::Accept6*>) {
      return result(table_.accept(listen_comm, recv_comm));
    } else {
      nccl_abi::NetDeviceHandle* device_handle = nullptr;
      return result(table_.accept(listen_comm, recv_comm, &device_handle));
    }
  }

  int reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) override {
    if constexpr (std::is_same_v<RegMr, slot::RegMr6*>)
      return result(table_.regMr(comm, data, narrow(size), type, mhandle));
    else
      return result(table_.regMr(comm, data, size, type, mhandle));
  }

  int dereg_mr(void* comm, void* mhandle) override { return result(table_.deregMr(comm, mhandle)); }

  int isend(void* comm, void* data, std::size_t size, int tag, void* mhandle,
            void** request) override {
    if constexpr (std::is_same_v<Isend, slot::Isend6*>)
      return result(table_.isend(comm, data, narrow(size), tag, mhandle, request));
    else if constexpr (std::is_same_v<Isend, slot::Isend9*>)
      return result(table_.isend(comm, data, size, tag, mhandle, request));
    else
      return result(table_.isend(comm, data, size, tag, mhandle, nullptr, request));
  }

  int irecv(void* comm, int n, void** data, const std::size_t* sizes, int* tags, void** mhandles,
            void** request) override {
    std::array<void*, kMaxGroup> profiler_handles{};
    if (n > kMaxGroup) throw Error("more receives in a group than NCCL ever posts");
    if constexpr (std::is_same_v<Irecv, slot::Irecv6*>) {
      std::array<int, kMaxGroup> narrowed{};
      for (int i = 0; i < n; ++i) narrowed[static_cast<std::size_t>(i)] = narrow(sizes[i]);
      return result(table_.irecv(comm, n, data, narrowed.data(), tags, mhandles, request));
    } else {
      std::array<std::size_t, kMaxGroup> copied{};
      for (int i = 0; i < n; ++i) copied[static_cast<std::size_t>(i)] = sizes[i];
      if constexpr (std::is_same_v<Irecv, slot::Irecv9*>)
        return result(table_.irecv(comm, n, data, copied.data(), tags, mhandles, request));
      else
        return result(table_.irecv(comm, n, data, copied.data(), tags, mhandles,
                                   profiler_handles.data(), request));
    }
  }

  int iflush(void* comm, int n, void** data, int* sizes, void** mhandles, void** request) override {
    return result(table_.iflush(comm, n, data, sizes, mhandles, request));
  }

  int test(void* request, int* done, int* sizes) override {
    return result(table_.test(request, done, sizes));
  }

  int close_send(void* comm) override { return result(table_.closeSend(comm)); }
  int close_recv(void* comm) override { return result(table_.closeRecv(comm)); }
  int close_listen(void* comm) override { return result(table_.closeListen(comm)); }

  bool has_make_vdevice() const override {
    if constexpr (requires { table_.makeVDevice; }) return table_.makeVDevice != nullptr;
    return false;
  }

  int make_vdevice(int* dev, const std::vector<int>& members) override {
    if constexpr (requires { table_.makeVDevice; }) {
      decltype(Props::vProps) props{};
      if (members.size() > static_cast<std::size_t>(props.kMax))
        throw Error("more devices than this version fuses into one");
      props.ndevs = static_cast<int>(members.size());
      for (std::size_t i = 0; i < members.size(); ++i) props.devs[i] = members[i];
      if (has_make_vdevice()) return result(call_(table_.makeVDevice, dev, &props));
    }
    throw Error("makeVDevice: not in this version of the net API");
  }

  bool has_finalize() const override {
    if constexpr (requires { table_.finalize; }) return table_.finalize != nullptr;
    return false;
  }

  int finalize(void* ctx) override {
    if constexpr (requires { table_.finalize; })
      if (has_finalize()) return result(call_(table_.finalize, ctx));
    throw Error("finalize: not in this version of the net API");
  }

  bool has_set_net_attr() const override {
    if constexpr (requires { table_.setNetAttr; }) return table_.setNetAttr != nullptr;
    return false;
  }

  int set_net_attr(void* ctx) override {
    if constexpr (requires { table_.setNetAttr; }) {
      constexpr nccl_abi::NetCommAttr kNothing{nccl_abi::kUndefined, nccl_abi::kUndefined,
                                               nccl_abi::kUndefined, nccl_abi::kUndefined};
      constexpr auto kAny = static_cast<std::uint32_t>(nccl_abi::kUndefined);
      nccl_abi::NetAttr attr{kNothing, kNothing, kAny, kAny, kAny};
      if (has_set_net_attr()) return result(table_.setNetAttr(ctx, &attr));
    }
    throw Error("setNetAttr: not in this version of the net API");
  }

 private:
  static constexpr int kMaxGroup = 8;  // NCCL_NET_IB_MAX_RECVS, the most that any transport offers

  static int result(nccl_abi::Result value) { return static_cast<int>(value); }

  static void translate(const Props& props, Properties* out) {
    *out = {};
    out->name = props.name != nullptr ? props.name : "";
    if (props.pciPath != nullptr) out->pci_path = props.pciPath;
    out->guid = props.guid;
    out->ptr_support = props.ptrSupport;
    out->speed_mbps = props.speed;
    out->port = props.port;
    out->latency_us = props.latency;
    out->max_comms = props.maxComms;
    out->max_recvs = props.maxRecvs;
    if constexpr (requires { props.netDeviceType; }) {
      out->device_type = static_cast<int>(props.netDeviceType);
      out->device_version = props.netDeviceVersion;
    }
    if constexpr (requires { props.regIsGlobal; }) out->reg_is_global = props.regIsGlobal;
    if constexpr (requires { props.forceFlush; }) out->force_flush = props.forceFlush;
    if constexpr (requires { props.vProps; }) {
      out->virtual_devices.emplace(props.vProps.devs, props.vProps.devs + props.vProps.ndevs);
      out->max_p2p_bytes = props.maxP2pBytes;
      out->max_coll_bytes = props.maxCollBytes;
    }
    if constexpr (requires { props.maxMultiRequestSize; })
      out->max_multi_request = props.maxMultiRequestSize;
    if constexpr (requires { props.railId; }) {
      out->rail_id = props.railId;
      out->plane_id = props.planeId;
    }
  }

  int version_;
  const Table& table_;
  Caller call_;
  nccl_abi::NetCommConfig config_{nccl_abi::kUndefined};  // v10 passes it to connect, not to init
};

template <class Table>
std::unique_ptr<NetApi> make(int version, const void* table, Caller caller) {
  return std::make_unique<NetApiOf<Table>>(version, table, caller);
}

}  // namespace

std::unique_ptr<NetApi> make_net_api(int version, const void* table, Caller caller) {
  switch (version) {
    case 6:
      return make<nccl_abi::NetV6>(version, table, caller);
    case 7:
      return make<nccl_abi::NetV7>(version, table, caller);
    case 8:
      return make<nccl_abi::NetV8>(version, table, caller);
    case 9:
      return make<nccl_abi::NetV9>(version, table, caller);
    case 10:
      return make<nccl_abi::NetV10>(version, table, caller);
    case 11:
      return make<nccl_abi::NetV11>(version, table, caller);
    case 12:
      return make<nccl_abi::NetV12>(version, table, caller);
    default:
      return nullptr;
  }
}

}  // namespace nnd::driver

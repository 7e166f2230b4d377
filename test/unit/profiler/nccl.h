// Plays NCCL towards our profiler layer, whatever the API's version.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "profiler/shim.h"
#include "state/connections.h"
#include "state/labelling.h"

namespace nnd::profiler::test {

namespace profile = nccl_abi::profile;

inline constexpr std::uint64_t kHash = 0xc0ffee;
inline constexpr int kRank = 3;

template <class Table>
struct Nccl {
  using Descr = typename Table::Descr;
  static constexpr int kVersion = Table::kApi;
  static constexpr bool kExact = kVersion >= 5;

  Table table = Shim<Table>::table();
  int own_mask = 0;
  int* mask = &own_mask;
  void* context = nullptr;
  bool open = false;

  explicit Nccl(int* shared_mask = nullptr) {
    if (shared_mask != nullptr) mask = shared_mask;
    if constexpr (kVersion < 4)
      table.init(&context, mask);
    else if constexpr (kVersion == 4)
      table.init(&context, mask, "world", kHash, 2, 8, kRank, nullptr);
    else
      table.init(&context, kHash, mask, "world", 2, 8, kRank, nullptr);
    open = true;
  }
  ~Nccl() { finalize(); }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  void finalize() {
    if (open) table.finalize(context);
    open = false;
  }

  void* start(Descr& descr) const {
    void* handle = nullptr;
    table.startEvent(context, &handle, &descr);
    return handle;
  }
  static Descr described(int type, const void* parent) {
    Descr descr{};
    descr.type = static_cast<decltype(descr.type)>(type);
    descr.parentObj = const_cast<void*>(parent);
    descr.rank = kRank;
    return descr;
  }

  void* group() const {
    Descr descr = described(profile::kGroup, nullptr);
    return start(descr);
  }
  void* call(std::uint64_t count) const {
    if constexpr (requires(Descr d) { d.collApi; }) {
      Descr descr = described(profile::kCollApi, nullptr);
      descr.collApi = {};
      descr.collApi.func = "AllReduce";
      descr.collApi.datatype = "ncclFloat32";
      descr.collApi.count = count;
      return start(descr);
    }
    return nullptr;
  }
  void* all_reduce(std::uint64_t seq, std::uint64_t count, const void* parent = nullptr) const {
    Descr descr = described(profile::kColl, parent);
    descr.coll = {};
    descr.coll.seqNumber = seq;
    descr.coll.count = count;
    if constexpr (kVersion < 4) descr.coll.commHash = kHash;
    if constexpr (kVersion == 1) {
      descr.coll.func = 4;
      descr.coll.datatype = 7;
      descr.coll.algo = 1;
      descr.coll.proto = 2;
    } else {
      descr.coll.func = "AllReduce";
      descr.coll.datatype = "ncclFloat32";
      descr.coll.algo = "RING";
      descr.coll.proto = "SIMPLE";
    }
    return start(descr);
  }
  void* send(int peer, std::uint64_t count) const { return transfer(peer, count, true); }
  void* receive(int peer, std::uint64_t count) const { return transfer(peer, count, false); }
  void* op(const void* task, int channel, int peer, bool sends, int pid = ::getpid()) const {
    Descr descr = described(profile::kProxyOp, task);
    descr.proxyOp = {};
    descr.proxyOp.pid = pid;
    descr.proxyOp.channelId = static_cast<std::uint8_t>(channel);
    descr.proxyOp.peer = peer;
    descr.proxyOp.isSend = sends;
    return start(descr);
  }
  void* step(const void* op) const {
    Descr descr = described(profile::kProxyStep, op);
    return start(descr);
  }
  void stop(void* handle) const { table.stopEvent(handle); }

  // A request was posted on c, and NCCL goes on as it does.
  void posted(state::Connection& c, void* op, void* step, bool sends) const {
    state::want_label(c);
    if constexpr (kExact) {
      Descr descr = described(profile::kNetPlugin, step);
      descr.netPlugin = {state::kLabelEvent, &c};
      start(descr);
    } else {
      using nccl_abi::ProfilerState;
      state::last_posted() = &c;
      if (kVersion < 4)
        table.recordEventState(
            op, sends ? ProfilerState::kProxyOpSendTransmitted : ProfilerState::kProxyOpRecvPosted,
            nullptr);
      else
        table.recordEventState(
            step, sends ? ProfilerState::kProxyStepSendWait : ProfilerState::kProxyStepRecvWait,
            nullptr);
    }
  }

 private:
  void* transfer(int peer, std::uint64_t count, bool sends) const {
    Descr descr = described(profile::kP2p, nullptr);
    descr.p2p = {};
    descr.p2p.count = count;
    descr.p2p.peer = peer;
    if constexpr (kVersion < 4) descr.p2p.commHash = kHash;
    if constexpr (kVersion == 1) {
      descr.p2p.func = sends ? 6 : 7;
      descr.p2p.datatype = 0;
    } else {
      descr.p2p.func = sends ? "Send" : "Recv";
      descr.p2p.datatype = "ncclInt8";
    }
    return start(descr);
  }
};

// A connection that NCCL has.
class Connected {
 public:
  explicit Connected(bool sends) {
    at = state::open_connection(sends ? state::ConnectionKind::kSend : state::ConnectionKind::kRecv,
                                10, {}, nullptr);
    state::hand_out(*at, this);
    at->unlabelled = true;
  }
  ~Connected() { state::release_connection(*at); }
  Connected(const Connected&) = delete;
  Connected& operator=(const Connected&) = delete;

  state::Labels labels() const {
    state::Labels out;
    at->labels.get(out);
    return out;
  }
  state::Connection* at;
};

}  // namespace nnd::profiler::test

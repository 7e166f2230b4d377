// The table that NCCL calls: one template for profiler v1 to v7. Table is the version's
// (include/nccl_abi). init has two forms besides; the slot's type picks the one that its version
// has.
#pragma once

#include "profiler/beside.h"
#include "profiler/layer.h"
#include "profiler/numbers.h"

namespace nnd::profiler {

template <class Table>
class Shim {
  using Result = nccl_abi::Result;
  using Descr = typename Table::Descr;
  using StateArgs = typename Table::StateArgs;

 public:
  static constexpr Table table() {
    return {"nccl-net-diag",   &Shim::init,         &Shim::start_event,
            &Shim::stop_event, &Shim::record_state, &Shim::finalize};
  }

 private:
  // call: another profiler's init.
  template <class Call>
  static Result open_any(void** context, int* mask, const state::Membership& told,
                         nccl_abi::DebugLogger log, Call&& call) noexcept {
    const Table* const other = Beside<Table>::other();
    *context = open({Table::kApi, mask, told, log});
    if (other != nullptr)
      Beside<Table>::init(*context, mask, [&](void** theirs, int* its_mask) {
        return call(other->init, theirs, its_mask);
      });
    return Result::kSuccess;  // an error crashes NCCL 2.23 to 2.27 when it ends
  }
  static state::Membership member(const char* name, std::uint64_t hash, int nodes, int ranks,
                                  int rank) noexcept {
    state::Membership told{hash, rank, ranks, nodes, {}};
    if (name != nullptr) told.name = name;
    return told;
  }
  static Result init(void** context, int* mask) noexcept {
    return open_any(context, mask, {}, nullptr, [](auto* init, void** theirs, int* its_mask) {
      return init(theirs, its_mask);
    });
  }
  static Result init(void** context, int* mask, const char* name, std::uint64_t hash, int nodes,
                     int ranks, int rank, nccl_abi::DebugLogger log) noexcept {
    return open_any(context, mask, member(name, hash, nodes, ranks, rank), log,
                    [&](auto* init, void** theirs, int* its_mask) {
                      return init(theirs, its_mask, name, hash, nodes, ranks, rank, log);
                    });
  }
  static Result init(void** context, std::uint64_t hash, int* mask, const char* name, int nodes,
                     int ranks, int rank, nccl_abi::DebugLogger log) noexcept {
    return open_any(context, mask, member(name, hash, nodes, ranks, rank), log,
                    [&](auto* init, void** theirs, int* its_mask) {
                      return init(theirs, hash, its_mask, name, nodes, ranks, rank, log);
                    });
  }

  template <class Event>
  static void add_comm(Task& task, const Event& event) noexcept {
    if constexpr (requires { event.commHash; }) {
      task.comm_hash = event.commHash;
      task.comm_name = event.name;
    }
  }
  static Task collective(const Descr& d) noexcept {
    Task task;
    add_comm(task, d.coll);
    task.rank = d.rank;
    task.kind = {text(kFunctions, d.coll.func), text(kDatatypes, d.coll.datatype),
                 text(kAlgorithms, d.coll.algo), text(kProtocols, d.coll.proto)};
    task.elements = d.coll.count;
    task.seq = d.coll.seqNumber;
    task.has_seq = true;
    return task;
  }
  static Task transfer(const Descr& d) noexcept {
    Task task;
    add_comm(task, d.p2p);
    task.rank = d.rank;
    task.kind = {text(kFunctions, d.p2p.func), text(kDatatypes, d.p2p.datatype)};
    task.elements = d.p2p.count;
    task.peer = d.p2p.peer;
    task.purpose = state::Purpose::kTransfer;
    return task;
  }
  static Task called(const auto& event, state::Purpose purpose) noexcept {
    Task task;
    task.kind = {event.func, event.datatype};
    task.elements = event.count;
    task.purpose = purpose;
    return task;
  }

  static void* start(void* context, const Descr& d) noexcept {
    namespace profile = nccl_abi::profile;
    const auto type = static_cast<int>(d.type);
    switch (type) {
      case profile::kProxyStep:
        return start_step(d.parentObj);
      case profile::kProxyOp:
        return start_op(context, d.proxyOp, d.parentObj);
      case profile::kColl:
        return start_task(context, collective(d), d.parentObj);
      case profile::kP2p:
        return start_task(context, transfer(d), d.parentObj);
      default:
        break;
    }
    if constexpr (requires { d.netPlugin; })
      if (type == profile::kNetPlugin) {
        net_event(d.netPlugin, d.rank, d.parentObj);
        return nullptr;
      }
    if constexpr (requires { d.collApi; }) {
      if (type == profile::kCollApi)
        return start_call(context, called(d.collApi, state::Purpose::kCollective));
      if (type == profile::kP2pApi)
        return start_call(context, called(d.p2pApi, state::Purpose::kTransfer));
    }
    return start_other();
  }
  static Result start_event(void* context, void** handle, Descr* descr) noexcept {
    if (const Table* const other = Beside<Table>::other()) [[unlikely]]
      return Beside<Table>::start(*other, context, handle, *descr, start);
    *handle = start(context, *descr);
    return Result::kSuccess;
  }
  static Result stop_event(void* handle) noexcept {
    if (is_pair(handle)) [[unlikely]]
      return Beside<Table>::stop(handle);
    stop(handle);
    return Result::kSuccess;
  }
  static Result record_state(void* handle, nccl_abi::ProfilerState state,
                             StateArgs* args) noexcept {
    if (is_pair(handle)) [[unlikely]]
      return Beside<Table>::record(handle, state, args);
    record(handle, state);
    return Result::kSuccess;
  }
  static Result finalize(void* context) noexcept {
    const Result rc = Beside<Table>::finalize(context);
    close(context);
    return rc;
  }
};

}  // namespace nnd::profiler

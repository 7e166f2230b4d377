// A transport of any net version that records what it is called with and does as it is told.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "nccl_abi/net.h"
#include "support/catch.h"

namespace fake {

using nccl_abi::Result;

// The arguments of the last call of each slot, as 64-bit words in their order.
struct Call {
  int count = 0;
  std::vector<std::uint64_t> args;
};

struct State {
  std::map<std::string, Call> calls;
  std::map<std::string, Result> answer;  // what a slot returns; success if it isn't here
  int polls_until_ready = 0;             // connect and accept answer null this many times
  std::size_t handle_bytes = 64;         // what listen writes of the handle
  bool accepts_request = true;           // isend, irecv and iflush give a request
  bool done = false;                     // test
  int test_size = 0;
  std::uintptr_t next_object = 0x1000;
  std::vector<std::uint64_t> entry_requests;  // *request as irecv found it

  Result operator()(const char* slot, std::vector<std::uint64_t> args) {
    Call& c = calls[slot];
    ++c.count;
    c.args = std::move(args);
    const auto found = answer.find(slot);
    return found == answer.end() ? Result::kSuccess : found->second;
  }
  void* fresh() { return reinterpret_cast<void*>(next_object += 0x10); }
};

inline State& state() {
  static State s;
  return s;
}

inline std::uint64_t word(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
inline std::uint64_t word(std::uint64_t v) { return v; }
inline std::uint64_t word(int v) { return static_cast<std::uint64_t>(v); }
inline std::uint64_t word(nccl_abi::DebugLogger f) { return reinterpret_cast<std::uintptr_t>(f); }
inline std::uint64_t word(nccl_abi::ProfilerCallback f) {
  return reinterpret_cast<std::uintptr_t>(f);
}

template <class... A>
std::vector<std::uint64_t> words(A... args) {
  return {word(args)...};
}

// One function per slot, whatever the version's signature: it records its arguments, then act()
// does what the slot is there for.
struct Nothing {
  template <class... A>
  static void act(Result, A...) {}
};
struct Init {
  template <class... A>
  static void act(Result rc, void** ctx, A...) {
    if (rc == Result::kSuccess) *ctx = reinterpret_cast<void*>(0xC0FFEE);
  }
  template <class... A>
  static void act(Result, A...) {}
};
struct Devices {
  static void act(Result, int* n) { *n = 2; }
};
struct Properties {
  template <class P>
  static void act(Result, int, P* p) {
    std::memset(static_cast<void*>(p), 0, sizeof *p);
    static char name[] = "fake0";
    static char path[] = "/sys/devices/pci0000:00/0000:00:01.0";
    p->name = name;
    p->pciPath = path;
    p->guid = 0xABCD;
    p->speed = 400000;
    p->port = 1;
    if constexpr (requires { p->maxP2pBytes; }) p->maxP2pBytes = 1 << 30;
    if constexpr (requires { p->vProps; }) p->vProps.ndevs = 1;
  }
};
inline void fill_handle(void* handle) { std::memset(handle, 0x5A, state().handle_bytes); }
struct Listen {
  static void act(Result rc, int, void* handle, void** comm) { act(rc, nullptr, 0, handle, comm); }
  static void act(Result rc, void*, int, void* handle, void** comm) {
    if (rc != Result::kSuccess) return;
    fill_handle(handle);
    *comm = state().fresh();
  }
};
inline void poll(Result rc, void** comm) {
  *comm = nullptr;
  if (rc != Result::kSuccess) return;
  if (state().polls_until_ready-- > 0) return;
  *comm = state().fresh();
}
// The transport keeps its progress in the handle, as NCCL's do.
inline void progress(void* handle) { ++static_cast<unsigned char*>(handle)[40]; }
struct Connect {
  static void act(Result rc, int, void* handle, void** comm) { progress(handle), poll(rc, comm); }
  static void act(Result rc, int, void* handle, void** comm, nccl_abi::NetDeviceHandle**) {
    progress(handle), poll(rc, comm);
  }
  static void act(Result rc, int, nccl_abi::NetCommConfig*, void* handle, void** comm,
                  nccl_abi::NetDeviceHandle**) {
    progress(handle), poll(rc, comm);
  }
  static void act(Result rc, void*, int, void* handle, void** comm, nccl_abi::NetDeviceHandle**) {
    progress(handle), poll(rc, comm);
  }
};
struct Accept {
  template <class... A>
  static void act(Result rc, void*, void** comm, A...) {
    poll(rc, comm);
  }
};
inline void give_request(Result rc, void** request) {
  state().entry_requests.push_back(word(*request));
  if (rc == Result::kSuccess) *request = state().accepts_request ? state().fresh() : nullptr;
}
struct Post {  // the request is the last argument
  template <class... A>
  static void act(Result rc, A... args) {
    void** request = nullptr;
    ((request = as_request(args)), ...);
    give_request(rc, request);
  }
  static void** as_request(void** p) { return p; }
  template <class T>
  static void** as_request(T) {
    return nullptr;
  }
};
struct Test {
  static void act(Result, void*, int* done, int* sizes) {
    *done = state().done ? 1 : 0;
    if (state().done && sizes != nullptr) sizes[0] = state().test_size;
  }
};
struct MakeVDevice {
  template <class P>
  static void act(Result, int* d, P*) {
    *d = 7;
  }
};

template <class Act, int kSlot, class Function>
struct Slot;
template <class Act, int kSlot, class... A>
struct Slot<Act, kSlot, Result(A...)> {
  static inline const char* name = "?";
  static Result call(A... args) {
    const Result rc = state()(name, words(args...));
    Act::act(rc, args...);
    return rc;
  }
};

template <class Act, int kSlot, class Function>
Function* make(const char* name, Function*) {
  Slot<Act, kSlot, Function>::name = name;
  return &Slot<Act, kSlot, Function>::call;
}

// The transport's table. full: also the slots that IB leaves null.
template <class Net>
const Net* transport(bool full = false) {
  static Net t;
  t = Net{};
  t.name = "IB";
  t.init = make<Init, 1>("init", t.init);
  t.devices = make<Devices, 2>("devices", t.devices);
  t.getProperties = make<Properties, 3>("getProperties", t.getProperties);
  t.listen = make<Listen, 4>("listen", t.listen);
  t.connect = make<Connect, 5>("connect", t.connect);
  t.accept = make<Accept, 6>("accept", t.accept);
  t.regMr = make<Nothing, 7>("regMr", t.regMr);
  t.regMrDmaBuf = make<Nothing, 8>("regMrDmaBuf", t.regMrDmaBuf);
  t.deregMr = make<Nothing, 9>("deregMr", t.deregMr);
  t.isend = make<Post, 10>("isend", t.isend);
  t.irecv = make<Post, 11>("irecv", t.irecv);
  t.iflush = make<Post, 12>("iflush", t.iflush);
  t.test = make<Test, 13>("test", t.test);
  t.closeSend = make<Nothing, 14>("closeSend", t.closeSend);
  t.closeRecv = make<Nothing, 15>("closeRecv", t.closeRecv);
  t.closeListen = make<Nothing, 16>("closeListen", t.closeListen);
  if constexpr (requires { t.getDeviceMr; }) {
    if (full) {
      t.getDeviceMr = make<Nothing, 17>("getDeviceMr", t.getDeviceMr);
      t.irecvConsumed = make<Nothing, 18>("irecvConsumed", t.irecvConsumed);
    }
  }
  if constexpr (requires { t.makeVDevice; })
    t.makeVDevice = make<MakeVDevice, 19>("makeVDevice", t.makeVDevice);
  if constexpr (requires { t.finalize; }) {
    t.finalize = make<Nothing, 20>("finalize", t.finalize);
    t.setNetAttr = make<Nothing, 21>("setNetAttr", t.setNetAttr);
  }
  return &t;
}

// A transport without a recorder of calls on the data path: it allocates nothing, takes no lock and
// makes no system call itself.
template <class Net>
const Net* quiet_transport() {
  static Net table;
  table = *transport<Net>();
  table.isend = [](void*, void*, std::size_t, int, void*, void*, void** request) {
    *request = reinterpret_cast<void*>(0x1230);
    return Result::kSuccess;
  };
  table.irecv = [](void*, int, void**, std::size_t*, int*, void**, void**, void** request) {
    *request = reinterpret_cast<void*>(0x1230);
    return Result::kSuccess;
  };
  table.iflush = [](void*, int, void**, int*, void**, void** request) {
    *request = reinterpret_cast<void*>(0x1230);
    return Result::kSuccess;
  };
  table.test = [](void*, int* done, int*) {
    *done = state().done ? 1 : 0;
    return Result::kSuccess;
  };
  return &table;
}

}  // namespace fake

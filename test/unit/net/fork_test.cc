// A process that is forked while other threads are inside the shim: the child has one thread, and
// must get through what NCCL or an exit handler may still call.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "as_nccl.h"
#include "context/fork_mutex.h"
#include "support/catch.h"

using fake::AsNccl;
using nccl_abi::Result;

namespace {

// 0: the child got through. A child that hangs is ended by its alarm.
template <class F>
int in_child(F&& f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(f() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace

TEST_CASE("a lock that another thread holds at the fork is free in the child") {
  static nnd::context::ForkMutex held{/*held_long=*/true};
  std::atomic<bool> locked{false};
  std::atomic<bool> end{false};
  std::thread holder([&] {
    held.lock();
    locked = true;
    while (!end) std::this_thread::yield();
    held.unlock();
  });
  while (!locked) std::this_thread::yield();
  CHECK(in_child([] {
          held.lock();
          held.unlock();
          return true;
        }) == 0);
  end = true;
  holder.join();
  held.lock();  // and still the parent's own
  held.unlock();
}

TEST_CASE("a child that is forked while connections are made can finalize") {
  // Without the fake's records, which are not for several threads.
  static nccl_abi::NetV12 table;
  table = *fake::transport<nccl_abi::NetV12>();
  static int object;
  table.listen = [](void*, int, void*, void** comm) {
    *comm = &object;
    return Result::kSuccess;
  };
  table.connect = [](void*, int, void*, void** comm, nccl_abi::NetDeviceHandle**) {
    *comm = &object;
    return Result::kSuccess;
  };
  table.closeSend = table.closeListen = table.finalize = [](void*) { return Result::kSuccess; };
  AsNccl<nccl_abi::NetV12> n(&table);
  n.init();
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!end) {
        AsNccl<nccl_abi::NetV12>::Handle handle{};
        void* listener = nullptr;
        void* send = nullptr;
        n.listen(0, handle, &listener);
        n.connect(0, handle, &send);
        if (send != nullptr) n.net.closeSend(send);
        n.net.closeListen(listener);
      }
    });
  for (int i = 0; i < 100; ++i) {
    const int status = in_child([&] {
      AsNccl<nccl_abi::NetV12>::Handle handle{};
      void* listener = nullptr;
      void* send = nullptr;
      n.listen(0, handle, &listener);
      n.connect(0, handle, &send);
      if (send != nullptr) n.net.closeSend(send);
      n.net.closeListen(listener);
      return n.net.finalize(n.ctx) == Result::kSuccess;
    });
    REQUIRE(status == 0);
  }
  end = true;
  for (auto& thread : threads) thread.join();
}

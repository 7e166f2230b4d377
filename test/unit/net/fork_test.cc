// A process that is forked while other threads are inside the shim: the child has one thread, and
// must get through what NCCL or an exit handler may still call.
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "as_nccl.h"
#include "context/fork_mutex.h"
#include "support/catch.h"
#include "support/forked.h"
#include "support/sanitizers.h"

using fake::AsNccl;
using nccl_abi::Result;
using nnd::test::holds_in_child;

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
  CHECK(holds_in_child([] {
    held.lock();
    held.unlock();
    return true;
  }));
  end = true;
  holder.join();
  held.lock();  // and still the parent's own
  held.unlock();
}

TEST_CASE("fork waits for what a lock guards, also where its holder waits for another lock") {
  // ThreadSanitizer would report what is done on purpose: locks in either order, a child without
  // the parent's thread.
  if constexpr (nnd::test::kThreadSanitizer) return;
  // Registered later, run earlier: fork has begun, and our locks come next.
  static std::atomic<bool> forking{false};
  static nnd::context::ForkMutex first;
  static nnd::context::ForkMutex second;
  static std::atomic<int> written{0};
  REQUIRE(::pthread_atfork([] { forking = true; }, nullptr, nullptr) == 0);
  for (int round = 0; round < 20; ++round) {  // who is woken first differs
    nnd::context::ForkMutex* const outer = round % 2 == 0 ? &first : &second;
    nnd::context::ForkMutex* const inner = outer == &first ? &second : &first;
    forking = false;
    written = 0;
    std::atomic<bool> locked{false};
    std::thread holder([&] {
      const std::lock_guard guard(*outer);
      locked = true;
      while (!forking) std::this_thread::yield();
      for (int i = 0; i < 3; ++i) std::this_thread::yield();
      const std::lock_guard both(*inner);
      written = 1;
    });
    while (!locked) std::this_thread::yield();
    CHECK(holds_in_child([] { return written == 1; }));
    holder.join();
  }
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
  const auto one_connection = [&n] {
    AsNccl<nccl_abi::NetV12>::Handle handle{};
    void* listener = nullptr;
    void* send = nullptr;
    n.listen(0, handle, &listener);
    n.connect(0, handle, &send);
    if (send != nullptr) n.net.closeSend(send);
    n.net.closeListen(listener);
  };
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!end) one_connection();
    });
  for (int i = 0; i < 100; ++i) {
    REQUIRE(holds_in_child([&] {
      one_connection();
      return n.net.finalize(n.ctx) == Result::kSuccess;
    }));
  }
  end = true;
  for (auto& thread : threads) thread.join();
}

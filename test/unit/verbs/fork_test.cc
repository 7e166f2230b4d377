// A process that is forked while other threads are inside the verbs layer: the child finds its
// locks free, and may go on with verbs or just end.
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "state/qp_table.h"
#include "support/catch.h"
#include "support/forked.h"
#include "world.h"

namespace {

// A QP's whole life. The other end is another one each time, so that nothing is known before.
bool live(const World& w, const Opened& device, unsigned number) {
  ibv_qp* const qp = device.qp();
  if (qp == nullptr) return false;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  bool fine = w.verbs.modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX) == 0;
  attr.qp_state = IBV_QPS_RTR;
  attr.dest_qp_num = number;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = 3;
  fine &= w.verbs.modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN) == 0;
  ibv_mr* const mr = w.verbs.reg_mr(device.pd, nullptr, 4096, 0);
  fine &= mr != nullptr && w.verbs.dereg_mr(mr) == 0;
  return w.verbs.destroy_qp(qp) == 0 && fine;
}

bool look_up(const World& w) {
  return w.nccl.dlvsym(w.library, "ibv_modify_qp", "IBVERBS_1.1") != nullptr;
}

}  // namespace

TEST_CASE("A child that is forked amid verbs calls can make its own") {
  World& w = world();
  const Opened warm;
  REQUIRE(live(w, warm, 1));
  std::atomic<bool> end{false};
  std::atomic<unsigned> rounds{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (unsigned i = 2; !end; ++i, ++rounds) live(w, warm, i);
  });
  threads.emplace_back([&] {
    while (!end) Opened again(1);
  });
  threads.emplace_back([&] {
    while (!end) look_up(w);
  });
  while (rounds < 10) std::this_thread::yield();
  for (int i = 0; i < 50; ++i)
    REQUIRE(nnd::test::holds_in_child([&] {
      const Opened device(i % 2);
      return live(w, device, 7) && live(w, warm, 8) && look_up(w);
    }));
  end = true;
  for (auto& thread : threads) thread.join();
  CHECK(live(w, warm, 9));
}

TEST_CASE("A QP's own lock that another thread holds at the fork is free in the child") {
  const Opened device;
  ibv_qp* const qp = device.qp();
  nnd::state::Qp* const record = nnd::state::find_qp(qp, qp->qp_num);
  REQUIRE(record != nullptr);
  std::atomic<bool> locked{false};
  std::atomic<bool> end{false};
  std::thread holder([&] {
    const std::lock_guard guard(record->mutex);
    locked = true;
    while (!end) std::this_thread::yield();
  });
  while (!locked) std::this_thread::yield();
  CHECK(nnd::test::holds_in_child([&] { return device.w.verbs.destroy_qp(qp) == 0; }));
  end = true;
  holder.join();
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
}

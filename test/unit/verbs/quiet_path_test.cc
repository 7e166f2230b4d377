// post_send, post_recv and poll_cq take no lock and make no system call.
#include "support/quiet_path.h"

#ifdef NND_QUIET_PATH

#include "state/current.h"
#include "support/catch.h"
#include "support/skip.h"
#include "world.h"

TEST_CASE("Posting and polling take no lock and make no system call") {
  const Opened device;
  ibv_cq* cq = device.w.verbs.create_cq(device.context, 16, nullptr, nullptr, 0);
  ibv_qp* qp = device.qp();
  FakeControl& control = *device.w.verbs.control;
  const auto traffic = [&] {
    bool fine = true;
    for (int i = 0; i < 1000; ++i) {
      ibv_send_wr send{};
      ibv_send_wr* bad_send = nullptr;
      ibv_recv_wr recv{};
      ibv_recv_wr* bad_recv = nullptr;
      ibv_wc wc[4];
      fine = fine && device.context->ops.post_send(qp, &send, &bad_send) == 0 &&
             device.context->ops.post_recv(qp, &recv, &bad_recv) == 0 &&
             device.context->ops.poll_cq(cq, 4, wc) == 0;
      control.completions[0] = {};
      control.completions[0].qp_num = qp->qp_num;
      control.completion_count = 1;
      fine = fine && device.context->ops.poll_cq(cq, 4, wc) == 1;
    }
    return fine;
  };
  const std::string outcome = nnd::test::watched(traffic);
  if (outcome == "not possible") NND_SKIP("system calls can't be forbidden here");
  CHECK(outcome == "quiet");
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
  CHECK(device.w.verbs.destroy_cq(cq) == 0);
}

#endif

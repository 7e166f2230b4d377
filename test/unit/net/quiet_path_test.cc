// The data path takes no lock and makes no system call.
#include "support/quiet_path.h"

#ifdef NND_QUIET_PATH

#include <mutex>

#include "as_nccl.h"
#include "support/skip.h"

using fake::AsNccl;
using fake::Result;
using nnd::test::watched;

TEST_CASE("what watches the data path sees locks and system calls") {
  static std::mutex mutex;
  if (watched([] { return true; }) == "not possible")
    NND_SKIP("system calls can't be forbidden here");
  CHECK(watched([] { return true; }) == "quiet");
  CHECK(watched([] { return false; }) == "failed");
  CHECK(watched([] {
          const std::lock_guard lock(mutex);
          return true;
        }) == "lock");
  CHECK(watched([] { return ::syscall(SYS_getppid) > 0; }) == "system call");
}

TEST_CASE("isend, irecv, iflush and test take no lock and make no system call") {
  AsNccl<nccl_abi::NetV12> n(fake::quiet_transport<nccl_abi::NetV12>());
  REQUIRE(n.init() == Result::kSuccess);
  void* send = n.send_comm();
  void* recv = n.recv_comm();
  const auto traffic = [&] {
    bool fine = true;
    for (std::size_t i = 0; i < 2 * nnd::state::kRequestsPerConnection; ++i) {
      void* requests[3] = {};
      int done = 0;
      fine = fine && n.isend(send, 8, &requests[0]) == Result::kSuccess &&
             n.irecv(recv, 1, &requests[1]) == Result::kSuccess &&
             n.iflush(recv, &requests[2]) == Result::kSuccess;
      fake::state().done = false;
      for (void* request : requests) n.net.test(request, &done, nullptr);
      fine = fine && done == 0;
      fake::state().done = true;
      for (void* request : requests) n.net.test(request, &done, nullptr);
      fine = fine && done == 1;
    }
    return fine;
  };
  const std::string outcome = watched(traffic);
  n.net.closeSend(send);
  n.net.closeRecv(recv);
  if (outcome == "not possible") NND_SKIP("system calls can't be forbidden here");
  CHECK(outcome == "quiet");
}

#endif

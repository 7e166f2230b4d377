// Requests: counted, timed, and gone when NCCL has no more use for them.
#include <malloc.h>

#include <cstdlib>
#include <new>
#include <set>

#include "as_nccl.h"

using fake::AsNccl;
using fake::ours;
using fake::Result;
using fake::state;
using nnd::state::is_ours;

namespace {

bool complete(auto& n, void* request, int size) {
  state().done = true;
  state().test_size = size;
  int sizes[32] = {};
  int done = 0;
  REQUIRE(n.net.test(request, &done, sizes) == Result::kSuccess);
  state().done = false;
  return done == 1;
}

std::uint64_t in_histogram(const nnd::state::Connection& c) {
  std::uint64_t sum = 0;
  for (const auto& bucket : c.latency) sum += bucket.load();
  return sum;
}

}  // namespace

TEMPLATE_TEST_CASE("sends and receives are counted with their bytes", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  void* send = n.send_comm();
  void* recv = n.recv_comm();
  void* request = nullptr;
  REQUIRE(n.isend(send, 1000, &request) == Result::kSuccess);
  CHECK(ours(send).started.load() == 1);
  CHECK(ours(send).completed.load() == 0);
  CHECK(complete(n, request, 1000));
  CHECK(ours(send).completed.load() == 1);
  CHECK(ours(send).bytes.load() == 1000);
  CHECK(in_histogram(ours(send)) == 1);
  CHECK(ours(send).last_done.load() >= ours(send).last_post.load());

  REQUIRE(n.irecv(recv, 1, &request) == Result::kSuccess);
  CHECK(complete(n, request, 640));
  CHECK(ours(recv).bytes.load() == 640);

  // A flush moves nothing.
  REQUIRE(n.iflush(recv, &request) == Result::kSuccess);
  CHECK(complete(n, request, 0));
  CHECK(ours(recv).bytes.load() == 640);
  CHECK(ours(recv).completed.load() == 2);
  CHECK(ours(recv).flushes.load() == 1);
  n.net.closeSend(send);
  n.net.closeRecv(recv);
}

TEMPLATE_TEST_CASE("a transport that takes no request now is not counted", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  void* send = n.send_comm();
  state().accepts_request = false;
  void* request = reinterpret_cast<void*>(0x5);
  REQUIRE(n.isend(send, 8, &request) == Result::kSuccess);
  CHECK(request == nullptr);
  CHECK(ours(send).started.load() == 0);
  n.net.closeSend(send);
}

TEMPLATE_TEST_CASE("with the pool empty the transport's own request is passed through", "",
                   NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  void* send = n.send_comm();
  std::vector<void*> requests;
  std::set<void*> distinct;
  for (std::size_t i = 0; i < nnd::state::kRequestsPerConnection + 3; ++i) {
    void* request = nullptr;
    REQUIRE(n.isend(send, 8, &request) == Result::kSuccess);
    CHECK(is_ours(request) == (i < nnd::state::kRequestsPerConnection));
    requests.push_back(request);
    distinct.insert(request);
  }
  CHECK(distinct.size() == requests.size());
  CHECK(ours(send).untracked.load() == 3);
  for (void* request : requests) CHECK(complete(n, request, 8));
  CHECK(ours(send).completed.load() == nnd::state::kRequestsPerConnection);
  void* request = nullptr;
  REQUIRE(n.isend(send, 8, &request) == Result::kSuccess);
  CHECK(is_ours(request));
  n.net.closeSend(send);
}

TEST_CASE("a request tested again after it was done is not counted twice") {
  AsNccl<nccl_abi::NetV12> n;
  REQUIRE(n.init() == Result::kSuccess);
  void* send = n.send_comm();
  void* request = nullptr;
  REQUIRE(n.isend(send, 8, &request) == Result::kSuccess);
  CHECK(complete(n, request, 8));
  CHECK(complete(n, request, 8));
  CHECK(ours(send).completed.load() == 1);
  void* a = nullptr;
  void* b = nullptr;
  REQUIRE(n.isend(send, 8, &a) == Result::kSuccess);
  REQUIRE(n.isend(send, 8, &b) == Result::kSuccess);
  CHECK(a != b);
  n.net.closeSend(send);
}

TEMPLATE_TEST_CASE("a receive lives until the transport was told that it is consumed", "",
                   nccl_abi::NetV7, nccl_abi::NetV8, nccl_abi::NetV9, nccl_abi::NetV10,
                   nccl_abi::NetV11, nccl_abi::NetV12) {
  AsNccl<TestType> n(fake::transport<TestType>(true));
  REQUIRE(n.init() == Result::kSuccess);
  void* recv = n.recv_comm();
  const std::uint64_t inner_comm = fake::inner(recv);
  for (std::size_t i = 0; i < 2 * nnd::state::kRequestsPerConnection; ++i) {
    void* request = nullptr;
    REQUIRE(n.irecv(recv, 1, &request) == Result::kSuccess);
    REQUIRE(is_ours(request));
    const std::uint64_t inner = state().next_object;
    REQUIRE(complete(n, request, 8));
    void* other = nullptr;
    REQUIRE(n.irecv(recv, 1, &other) == Result::kSuccess);
    REQUIRE(other != request);  // not used again yet
    REQUIRE(n.net.irecvConsumed(recv, 1, request) == Result::kSuccess);
    REQUIRE(state().calls["irecvConsumed"].args == fake::words(inner_comm, 1, inner));
    REQUIRE(complete(n, other, 8));
    REQUIRE(n.net.irecvConsumed(recv, 1, other) == Result::kSuccess);
  }
  CHECK(ours(recv).untracked.load() == 0);
  void* dptr = nullptr;
  REQUIRE(n.net.getDeviceMr(recv, n.mhandle, &dptr) == Result::kSuccess);
  CHECK(state().calls["getDeviceMr"].args == fake::words(inner_comm, n.mhandle, &dptr));
  n.net.closeRecv(recv);
}

TEST_CASE("a transport may answer an optional receive with any request") {
  // One that takes NCCL at its word hands the 1 back.
  static nccl_abi::NetV12 table;
  table = *fake::transport<nccl_abi::NetV12>();
  table.irecv = [](void*, int, void**, std::size_t*, int*, void**, void**, void**) {
    return Result::kSuccess;
  };
  AsNccl<nccl_abi::NetV12> n(&table);
  REQUIRE(n.init() == Result::kSuccess);
  void* recv = n.recv_comm();
  void* request = reinterpret_cast<void*>(nccl_abi::kOptionalRecvCompletion);
  REQUIRE(n.irecv(recv, 1, &request) == Result::kSuccess);
  REQUIRE(is_ours(request));
  REQUIRE(complete(n, request, 0));
  CHECK(state().calls["test"].args[0] == nccl_abi::kOptionalRecvCompletion);
  n.net.closeRecv(recv);
}

// --- no allocation on the data path. The sanitizers have a malloc of their own.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NND_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NND_SANITIZED 1
#endif
#endif
#ifndef NND_SANITIZED

namespace {
thread_local std::size_t allocations = 0;
}

extern "C" {
void* __libc_malloc(std::size_t size);
void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
}

TEST_CASE("the data path allocates nothing") {
  void* probe = std::malloc(1);
  std::free(probe);
  REQUIRE(allocations > 0);

  AsNccl<nccl_abi::NetV12> n(fake::quiet_transport<nccl_abi::NetV12>());
  REQUIRE(n.init() == Result::kSuccess);
  void* send = n.send_comm();
  void* recv = n.recv_comm();
  const std::size_t before = allocations;
  for (std::size_t i = 0; i < 3 * nnd::state::kRequestsPerConnection; ++i) {
    void* requests[3] = {};
    n.isend(send, 8, &requests[0]);
    n.irecv(recv, 1, &requests[1]);
    n.iflush(recv, &requests[2]);
    int done = 0;
    state().done = false;
    for (void* request : requests) n.net.test(request, &done, nullptr);
    state().done = true;
    // A few stay in flight, so that the pool runs empty too.
    for (void* request : requests)
      if (i % 2 == 0) n.net.test(request, &done, nullptr);
  }
  CHECK(allocations == before);
  CHECK(ours(send).untracked.load() > 0);
  n.net.closeSend(send);
  n.net.closeRecv(recv);
}

#endif  // NND_SANITIZED

// Connections over a transport: polling, re-used handles, failures, orders of closing.
#include <cstdint>
#include <vector>

#include "as_nccl.h"
#include "net/attempts.h"
#include "net/connector.h"
#include "net/handle.h"
#include "record/recorder.h"

using fake::AsNccl;
using fake::ours;
using fake::Result;
using fake::state;
using nnd::net::attempts;
using nnd::state::is_ours;

namespace {

std::size_t open_connections() {
  std::size_t n = 0;
  nnd::state::for_each_connection([&](nnd::state::Connection&) { ++n; });
  return n;
}

}  // namespace

TEMPLATE_TEST_CASE("connect and accept are polled until they are ready", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  typename AsNccl<TestType>::Handle handle{};
  void* listener = nullptr;
  REQUIRE(n.listen(0, handle, &listener) == Result::kSuccess);
  const auto trailer = nnd::net::read_trailer(handle.data());
  REQUIRE(trailer);
  CHECK(trailer->proc == nnd::record::proc_id());
  CHECK(trailer->listen == ours(listener).about.link_listen);
  CHECK(trailer->gid[0] == 0);  // nobody asked for the device's properties yet

  state().polls_until_ready = 5;
  void* send = nullptr;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(n.connect(0, handle, &send) == Result::kSuccess);
    REQUIRE(send == nullptr);
    CHECK(attempts().size() == 1);
  }
  REQUIRE(n.connect(0, handle, &send) == Result::kSuccess);
  CHECK(ours(send).polls == 6);
  CHECK(attempts().size() == 0);

  state().polls_until_ready = 3;
  void* recv = nullptr;
  for (int i = 0; i < 4; ++i) REQUIRE(n.accept(listener, &recv) == Result::kSuccess);
  CHECK(ours(recv).polls == 4);

  // Both ends carry the same link; only the connecting end has been told who the peer is.
  CHECK(ours(send).about.link_proc == nnd::record::proc_id());
  CHECK(ours(send).about.link_proc == ours(recv).about.link_proc);
  CHECK(ours(send).about.link_listen == ours(recv).about.link_listen);
  CHECK(ours(send).about.peer_proc == nnd::record::proc_id());
  CHECK(ours(send).about.id != ours(recv).about.id);
  CHECK(ours(send).about.comm == (AsNccl<TestType>::kApi >= 11 ? 0xC0u : 0u));
  CHECK(ours(recv).about.comm == ours(send).about.comm);

  REQUIRE(n.net.closeSend(send) == Result::kSuccess);
  REQUIRE(n.net.closeRecv(recv) == Result::kSuccess);
  REQUIRE(n.net.closeListen(listener) == Result::kSuccess);
  CHECK(open_connections() == 0);
}

TEMPLATE_TEST_CASE("the transport sees the handle that it made", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  typename AsNccl<TestType>::Handle handle{};
  void* listener = nullptr;
  REQUIRE(n.listen(0, handle, &listener) == Result::kSuccess);
  for (std::size_t i = 0; i < 64; ++i) REQUIRE(handle[i] == std::byte{0x5A});
  for (std::size_t i = 64; i < 96; ++i) REQUIRE(handle[i] == std::byte{0});
  n.net.closeListen(listener);
}

TEST_CASE("the trailer tells the GID of a device that is known") {
  AsNccl<nccl_abi::NetV12> n;
  REQUIRE(n.init() == Result::kSuccess);
  nccl_abi::NetPropertiesV12 props;
  REQUIRE(n.net.getProperties(4, &props) == Result::kSuccess);
  AsNccl<nccl_abi::NetV12>::Handle handle{};
  void* listener = nullptr;
  REQUIRE(n.listen(4, handle, &listener) == Result::kSuccess);
  const auto trailer = nnd::net::read_trailer(handle.data());
  REQUIRE(trailer);
  CHECK(trailer->gid[0] == 0xFD);
  n.net.closeListen(listener);
}

TEST_CASE("a transport that fills the handle gets no trailer, and connections work without") {
  AsNccl<nccl_abi::NetV12> n;
  REQUIRE(n.init() == Result::kSuccess);
  state().handle_bytes = 128;
  AsNccl<nccl_abi::NetV12>::Handle handle{};
  void* listener = nullptr;
  REQUIRE(n.listen(0, handle, &listener) == Result::kSuccess);
  for (const std::byte byte : handle) REQUIRE(byte == std::byte{0x5A});
  void* send = nullptr;
  REQUIRE(n.connect(0, handle, &send) == Result::kSuccess);
  CHECK(ours(send).about.link_listen == 0);
  CHECK(ours(send).about.peer_proc == 0);
  n.net.closeSend(send);
  n.net.closeListen(listener);
}

TEST_CASE("memory that holds another handle begins another attempt") {
  AsNccl<nccl_abi::NetV12> n;
  REQUIRE(n.init() == Result::kSuccess);
  AsNccl<nccl_abi::NetV12>::Handle memory{};
  state().polls_until_ready = 1000;
  void* comm = nullptr;
  REQUIRE(n.connect(0, memory, &comm) == Result::kSuccess);
  REQUIRE(n.connect(0, memory, &comm) == Result::kSuccess);
  memory.fill(std::byte{9});  // NCCL gave up and used the memory for another peer
  REQUIRE(n.connect(0, memory, &comm) == Result::kSuccess);
  state().polls_until_ready = 0;
  REQUIRE(n.connect(0, memory, &comm) == Result::kSuccess);
  CHECK(ours(comm).polls == 2);
  n.net.closeSend(comm);
  CHECK(attempts().size() == 0);

  // The same memory and handle again, after success, is a new one too.
  state().polls_until_ready = 0;
  REQUIRE(n.connect(0, memory, &comm) == Result::kSuccess);
  CHECK(ours(comm).polls == 1);
  n.net.closeSend(comm);
}

TEST_CASE("memory used for another device or communicator begins another attempt") {
  AsNccl<nccl_abi::NetV12> n;
  REQUIRE(n.init() == Result::kSuccess);
  AsNccl<nccl_abi::NetV12>::Handle memory{};
  state().polls_until_ready = 2;
  void* comm = nullptr;
  REQUIRE(n.connect(0, memory, &comm) == Result::kSuccess);
  REQUIRE(n.connect(1, memory, &comm) == Result::kSuccess);
  n.ctx = reinterpret_cast<void*>(0xDECAF);
  REQUIRE(n.connect(1, memory, &comm) == Result::kSuccess);
  CHECK(ours(comm).polls == 1);
  n.net.closeSend(comm);
}

TEMPLATE_TEST_CASE("failures are returned as they are, and end the attempt", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  // One that NCCL doesn't define is passed on too.
  const Result rc = GENERATE(Result::kSystemError, Result::kRemoteError, static_cast<Result>(77));
  typename AsNccl<TestType>::Handle handle{};
  typename AsNccl<TestType>::Handle before = handle;
  void* listener = nullptr;

  state().answer["listen"] = rc;
  CHECK(n.listen(0, handle, &listener) == rc);
  CHECK(listener == nullptr);
  CHECK(handle == before);
  state().answer.clear();
  REQUIRE(n.listen(0, handle, &listener) == Result::kSuccess);

  state().answer["connect"] = rc;
  void* send = nullptr;
  CHECK(n.connect(0, handle, &send) == rc);
  CHECK(send == nullptr);
  CHECK(attempts().size() == 0);

  state().answer["accept"] = rc;
  void* recv = nullptr;
  CHECK(n.accept(listener, &recv) == rc);
  CHECK(recv == nullptr);
  state().answer.clear();
  REQUIRE(n.accept(listener, &recv) == Result::kSuccess);
  CHECK(ours(recv).polls == 1);

  int ndev = 0;
  void* mr = nullptr;
  void* request = nullptr;
  int done = 0;
  for (const char* slot : {"devices", "regMr", "regMrDmaBuf", "deregMr", "isend", "irecv", "iflush",
                           "test", "closeRecv", "closeListen", "getProperties"})
    state().answer[slot] = rc;
  CHECK(n.net.devices(&ndev) == rc);
  CHECK(n.net.regMr(recv, n.buffer, 8, 1, &mr) == rc);
  CHECK(n.net.regMrDmaBuf(recv, n.buffer, 8, 2, 0, 3, &mr) == rc);
  CHECK(n.net.deregMr(recv, mr) == rc);
  CHECK(n.isend(recv, 8, &request) == rc);
  CHECK(n.irecv(recv, 1, &request) == rc);
  CHECK(n.iflush(recv, &request) == rc);
  CHECK(request == nullptr);
  state().answer.erase("irecv");
  REQUIRE(n.irecv(recv, 1, &request) == Result::kSuccess);
  CHECK(n.net.test(request, &done, nullptr) == rc);
  CHECK(n.net.test(request, &done, nullptr) == rc);
  CHECK(ours(recv).failed.load() == 1);
  CHECK(n.net.closeRecv(recv) == rc);
  CHECK(n.net.closeListen(listener) == rc);
  CHECK(open_connections() == 0);
}

TEST_CASE("a comm that comes with an error can be closed") {
  AsNccl<nccl_abi::NetV11> n;
  static nccl_abi::NetV11 odd;
  odd = *fake::transport<nccl_abi::NetV11>();
  odd.connect = [](void*, int, void*, void** comm, nccl_abi::NetDeviceHandle**) {
    *comm = reinterpret_cast<void*>(0x4242);
    return Result::kRemoteError;
  };
  AsNccl<nccl_abi::NetV11> m(&odd);
  REQUIRE(m.init() == Result::kSuccess);
  AsNccl<nccl_abi::NetV11>::Handle handle{};
  void* comm = nullptr;
  CHECK(m.connect(0, handle, &comm) == Result::kRemoteError);
  REQUIRE(is_ours(comm));
  CHECK(m.net.closeSend(comm) == Result::kSuccess);
  CHECK(state().calls["closeSend"].args == fake::words(0x4242));
}

TEMPLATE_TEST_CASE("comms close in any order", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  typename AsNccl<TestType>::Handle handle{};
  void* listener = nullptr;
  REQUIRE(n.listen(0, handle, &listener) == Result::kSuccess);
  void* first = nullptr;
  void* second = nullptr;
  REQUIRE(n.accept(listener, &first) == Result::kSuccess);
  REQUIRE(n.accept(listener, &second) == Result::kSuccess);
  void* request = nullptr;
  REQUIRE(n.irecv(second, 1, &request) == Result::kSuccess);
  REQUIRE(n.net.closeListen(listener) == Result::kSuccess);
  REQUIRE(n.net.closeRecv(first) == Result::kSuccess);
  state().done = true;
  int done = 0;
  REQUIRE(n.net.test(request, &done, nullptr) == Result::kSuccess);
  CHECK(done == 1);
  CHECK(ours(second).completed.load() == 1);
  REQUIRE(n.irecv(second, 1, &request) == Result::kSuccess);  // still in flight at the close
  REQUIRE(n.net.closeRecv(second) == Result::kSuccess);
  CHECK(open_connections() == 0);
}

TEST_CASE("finalize with connections open leaves them usable and forgets what was under way") {
  AsNccl<nccl_abi::NetV12> n;
  REQUIRE(n.init() == Result::kSuccess);
  void* send = n.send_comm();
  AsNccl<nccl_abi::NetV12>::Handle handle{};
  state().polls_until_ready = 10;
  void* pending = nullptr;
  REQUIRE(n.connect(0, handle, &pending) == Result::kSuccess);
  CHECK(attempts().size() == 1);
  REQUIRE(n.net.finalize(n.ctx) == Result::kSuccess);
  CHECK(attempts().size() == 0);
  void* request = nullptr;
  REQUIRE(n.isend(send, 8, &request) == Result::kSuccess);
  REQUIRE(n.net.closeSend(send) == Result::kSuccess);
  CHECK(open_connections() == 0);
}

TEST_CASE("a comm that is not ours is passed through") {
  AsNccl<nccl_abi::NetV12> n;
  REQUIRE(n.init() == Result::kSuccess);
  void* const raw = reinterpret_cast<void*>(0x999000);
  void* request = nullptr;
  void* recv = nullptr;
  void* mr = nullptr;
  REQUIRE(n.isend(raw, 8, &request) == Result::kSuccess);
  CHECK(state().calls["isend"].args[0] == fake::word(raw));
  CHECK_FALSE(is_ours(request));
  int done = 0;
  REQUIRE(n.net.test(request, &done, nullptr) == Result::kSuccess);
  CHECK(state().calls["test"].args[0] == fake::word(request));
  REQUIRE(n.accept(raw, &recv) == Result::kSuccess);
  CHECK_FALSE(is_ours(recv));
  REQUIRE(n.net.regMr(raw, n.buffer, 8, 1, &mr) == Result::kSuccess);
  CHECK(state().calls["regMr"].args[0] == fake::word(raw));
  REQUIRE(n.net.closeSend(raw) == Result::kSuccess);
  CHECK(state().calls["closeSend"].args[0] == fake::word(raw));
}

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// As nnd-watch does: once a second, for so long.
void look(std::uint64_t& now_ns, std::uint64_t for_ns) {
  for (const std::uint64_t until = now_ns + for_ns; now_ns < until; now_ns += kSecond)
    nnd::net::end_given_up(now_ns);
}

}  // namespace

TEMPLATE_TEST_CASE("connects and accepts that an abort left behind end by themselves", "",
                   NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  std::vector<typename AsNccl<TestType>::Handle> handles(50);
  state().polls_until_ready = 1 << 30;
  void* listener = nullptr;
  void* comm = nullptr;
  REQUIRE(n.listen(0, handles[0], &listener) == Result::kSuccess);
  REQUIRE(n.accept(listener, &comm) == Result::kSuccess);
  for (auto& handle : handles) REQUIRE(n.connect(0, handle, &comm) == Result::kSuccess);
  CHECK(attempts().size() == 51);
  CHECK(open_connections() == 52);  // with the listen comm

  std::uint64_t now_ns = 1000 * kSecond;
  // Those that are polled stay, however long it takes.
  for (int i = 0; i < 5; ++i) {
    look(now_ns, nnd::net::kGivenUpNs / 2);
    REQUIRE(n.accept(listener, &comm) == Result::kSuccess);
    for (auto& handle : handles) REQUIRE(n.connect(0, handle, &comm) == Result::kSuccess);
  }
  CHECK(attempts().size() == 51);
  // What the process slept doesn't count.
  now_ns += 10 * nnd::net::kGivenUpNs;
  look(now_ns, nnd::net::kGivenUpNs / 2);
  CHECK(attempts().size() == 51);
  // Nor what NCCL's thread is held up in a call of another one.
  const auto accepting = [](bool in_call) {
    nnd::state::for_each_connection([&](nnd::state::Connection& c) {
      if (c.kind == nnd::state::ConnectionKind::kRecv) c.in_call = in_call;
    });
  };
  accepting(true);
  look(now_ns, 2 * nnd::net::kGivenUpNs);
  CHECK(attempts().size() == 51);
  accepting(false);
  look(now_ns, nnd::net::kGivenUpNs);
  CHECK(attempts().size() == 0);
  CHECK(open_connections() == 1);

  // Whoever comes back all the same begins anew.
  state().polls_until_ready = 0;
  REQUIRE(n.connect(0, handles[7], &comm) == Result::kSuccess);
  CHECK(ours(comm).polls == 1);
  n.net.closeSend(comm);
  REQUIRE(n.accept(listener, &comm) == Result::kSuccess);
  n.net.closeRecv(comm);
  n.net.closeListen(listener);
  CHECK(open_connections() == 0);
}

TEST_CASE("closing a listen comm ends the accept that is under way there") {
  AsNccl<nccl_abi::NetV8> n;
  REQUIRE(n.init() == Result::kSuccess);
  AsNccl<nccl_abi::NetV8>::Handle handle{};
  void* listener = nullptr;
  void* comm = nullptr;
  REQUIRE(n.listen(0, handle, &listener) == Result::kSuccess);
  state().polls_until_ready = 5;
  REQUIRE(n.accept(listener, &comm) == Result::kSuccess);
  CHECK(open_connections() == 2);
  REQUIRE(n.net.closeListen(listener) == Result::kSuccess);
  CHECK(attempts().size() == 0);
  CHECK(open_connections() == 0);
}

TEST_CASE("what is over the policy's deadline stays one attempt, with one answer") {
  AsNccl<nccl_abi::NetV8> n;
  nnd::net::dependencies().refusal.deadline_sec = []() noexcept { return 1e-9; };
  REQUIRE(n.init() == Result::kSuccess);
  AsNccl<nccl_abi::NetV8>::Handle handle{};
  void* listener = nullptr;
  void* send = nullptr;
  void* recv = nullptr;
  REQUIRE(n.listen(0, handle, &listener) == Result::kSuccess);
  state().polls_until_ready = 1 << 30;
  for (int i = 0; i < 3; ++i) {
    CHECK(n.connect(0, handle, &send) == Result::kSystemError);
    CHECK(n.accept(listener, &recv) == Result::kSystemError);
  }
  CHECK(attempts().size() == 2);
  CHECK(open_connections() == 3);
  // If the transport comes to its end all the same, it is NCCL's to close.
  state().polls_until_ready = 0;
  REQUIRE(n.connect(0, handle, &send) == Result::kSuccess);
  CHECK(ours(send).polls == 4);
  CHECK(n.net.closeSend(send) == Result::kSuccess);
  CHECK(n.net.closeListen(listener) == Result::kSuccess);
  CHECK(attempts().size() == 0);
  CHECK(open_connections() == 0);
}

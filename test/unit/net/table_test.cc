// What NCCL sees of the table itself: null slots, the name, and arguments that arrive unchanged.
#include "as_nccl.h"

using fake::AsNccl;
using fake::inner;
using fake::Result;
using fake::state;
using fake::transport;
using fake::word;
using fake::words;

namespace {
std::vector<std::uint64_t> args(const char* slot) { return state().calls[slot].args; }
}  // namespace

TEMPLATE_TEST_CASE("before init the table looks like IB's", "", NND_ALL_VERSIONS) {
  const auto table = nnd::net::Shim<TestType>::table();
  const auto* ib = transport<TestType>();
  CHECK(std::string(table.name) == "IB");
  const auto* ours = reinterpret_cast<void* const*>(&table);
  const auto* theirs = reinterpret_cast<void* const*>(ib);
  for (std::size_t i = 1; i < sizeof(TestType) / sizeof(void*); ++i)
    CHECK((ours[i] == nullptr) == (theirs[i] == nullptr));
}

TEMPLATE_TEST_CASE("after init slots are null where the transport's are, and no others", "",
                   NND_ALL_VERSIONS) {
  constexpr std::size_t kSlots = sizeof(TestType) / sizeof(void*) - 1;
  // Socket has no regMrDmaBuf; another plugin may have all.
  for (const bool full : {false, true}) {
    TestType table = *transport<TestType>(full);
    if (!full) table.regMrDmaBuf = nullptr;
    table.name = "Socket";
    AsNccl<TestType> nccl(&table);
    REQUIRE(nccl.init() == Result::kSuccess);
    CHECK(std::string(nccl.net.name) == "Socket");
    const auto* ours = reinterpret_cast<void* const*>(&nccl.net);
    const auto* theirs = reinterpret_cast<void* const*>(&table);
    for (std::size_t i = 1; i <= kSlots; ++i) CHECK((ours[i] == nullptr) == (theirs[i] == nullptr));
  }
}

TEMPLATE_TEST_CASE("arguments reach the transport unchanged, comms and requests as its own", "",
                   NND_ALL_VERSIONS) {
  constexpr int api = AsNccl<TestType>::kApi;
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  const std::uint64_t log = word(&fake::logger);
  const std::uint64_t prof = word(&fake::profiler);
  if constexpr (api >= 11) {
    CHECK(args("init") == words(&n.ctx, 0xC0, &n.config, log, prof));
    CHECK(n.ctx == reinterpret_cast<void*>(0xC0FFEE));
  } else if constexpr (api == 10) {
    CHECK(args("init") == words(log, prof));
  } else {
    CHECK(args("init") == words(log));
  }

  int ndev = 0;
  REQUIRE(n.net.devices(&ndev) == Result::kSuccess);
  CHECK(ndev == 2);
  CHECK(args("devices") == words(&ndev));

  typename AsNccl<TestType>::Handle handle{};
  void* listener = nullptr;
  REQUIRE(n.listen(1, handle, &listener) == Result::kSuccess);
  if constexpr (api >= 11)
    CHECK(args("listen") == words(n.ctx, 1, handle.data(), &listener));
  else
    CHECK(args("listen") == words(1, handle.data(), &listener));

  void* send = nullptr;
  REQUIRE(n.connect(1, handle, &send) == Result::kSuccess);
  if constexpr (api >= 11)
    CHECK(args("connect") == words(n.ctx, 1, handle.data(), &send, &n.device));
  else if constexpr (api == 10)
    CHECK(args("connect") == words(1, &n.config, handle.data(), &send, &n.device));
  else if constexpr (api >= 7)
    CHECK(args("connect") == words(1, handle.data(), &send, &n.device));
  else
    CHECK(args("connect") == words(1, handle.data(), &send));

  void* recv = nullptr;
  REQUIRE(n.accept(listener, &recv) == Result::kSuccess);
  if constexpr (api >= 7)
    CHECK(args("accept") == words(inner(listener), &recv, &n.device));
  else
    CHECK(args("accept") == words(inner(listener), &recv));

  void* mr = nullptr;
  REQUIRE(n.net.regMr(send, n.buffer, 8, 1, &mr) == Result::kSuccess);
  CHECK(args("regMr") == words(inner(send), n.buffer, 8, 1, &mr));
  REQUIRE(n.net.regMrDmaBuf(recv, n.buffer, 8, 2, 0x100, 9, &mr) == Result::kSuccess);
  CHECK(args("regMrDmaBuf") == words(inner(recv), n.buffer, 8, 2, 0x100, 9, &mr));
  REQUIRE(n.net.deregMr(recv, n.mhandle) == Result::kSuccess);
  CHECK(args("deregMr") == words(inner(recv), n.mhandle));

  void* request = nullptr;
  REQUIRE(n.isend(send, 8, &request) == Result::kSuccess);
  if constexpr (api >= 10)
    CHECK(args("isend") == words(inner(send), n.buffer, 8, 5, n.mhandle, n.phandle, &request));
  else
    CHECK(args("isend") == words(inner(send), n.buffer, 8, 5, n.mhandle, &request));
  REQUIRE(nnd::net::is_ours(request));
  const std::uint64_t inner_request = word(static_cast<nnd::net::Request*>(request)->inner);
  CHECK(inner_request == state().next_object);
  int done = -1;
  int size[8] = {};
  REQUIRE(n.net.test(request, &done, size) == Result::kSuccess);
  CHECK(args("test") == words(inner_request, &done, size));
  CHECK(done == 0);

  // From NCCL 2.24 a receive says with 1 that its completion is optional.
  request = reinterpret_cast<void*>(nccl_abi::kOptionalRecvCompletion);
  REQUIRE(n.irecv(recv, 2, &request) == Result::kSuccess);
  CHECK(state().entry_requests.back() == nccl_abi::kOptionalRecvCompletion);
  if constexpr (api >= 10)
    CHECK(args("irecv") ==
          words(inner(recv), 2, n.buffers, n.sizes, n.tags, n.mhandles, n.phandles, &request));
  else
    CHECK(args("irecv") == words(inner(recv), 2, n.buffers, n.sizes, n.tags, n.mhandles, &request));
  CHECK(nnd::net::is_ours(request));

  REQUIRE(n.iflush(recv, &request) == Result::kSuccess);
  CHECK(args("iflush") == words(inner(recv), 1, n.buffers, n.flush_sizes, n.mhandles, &request));

  const std::uint64_t inner_send = inner(send);
  const std::uint64_t inner_recv = inner(recv);
  const std::uint64_t inner_listen = inner(listener);
  REQUIRE(n.net.closeListen(listener) == Result::kSuccess);
  CHECK(args("closeListen") == words(inner_listen));
  REQUIRE(n.net.closeSend(send) == Result::kSuccess);
  CHECK(args("closeSend") == words(inner_send));
  REQUIRE(n.net.closeRecv(recv) == Result::kSuccess);
  CHECK(args("closeRecv") == words(inner_recv));

  if constexpr (api >= 9) {
    int dev = -1;
    using Props = nccl_abi::NetVDeviceProps<(api >= 12 ? 8 : 4)>;
    Props props{};
    REQUIRE(n.net.makeVDevice(&dev, &props) == Result::kSuccess);
    CHECK(args("makeVDevice") == words(&dev, &props));
    CHECK(dev == 7);
  }
  if constexpr (api >= 11) {
    nccl_abi::NetAttr attr{};
    REQUIRE(n.net.setNetAttr(n.ctx, &attr) == Result::kSuccess);
    CHECK(args("setNetAttr") == words(n.ctx, &attr));
    REQUIRE(n.net.finalize(n.ctx) == Result::kSuccess);
    CHECK(args("finalize") == words(n.ctx));
  }
}

TEST_CASE("virtual devices are believed only where they can be") {
  nccl_abi::NetPropertiesV9 p{};
  p.vProps.ndevs = 2;
  p.vProps.devs[0] = 1;
  p.vProps.devs[1] = 3;
  CHECK(nnd::net::to_device(0, p).parts == std::vector<int>{1, 3});
  p.vProps.devs[1] = 0x7fff1234;
  CHECK(nnd::net::to_device(0, p).parts.empty());
  p.vProps.devs[1] = 3;
  p.vProps.ndevs = 5;
  CHECK(nnd::net::to_device(0, p).parts.empty());
  p.vProps.ndevs = -1;
  CHECK(nnd::net::to_device(0, p).parts.empty());
}

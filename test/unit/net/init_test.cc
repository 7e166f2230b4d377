// Finding the transport, failing to, finding another, and calls without init.
#include <unistd.h>

#include "as_nccl.h"

using fake::AsNccl;
using fake::Result;
using fake::state;

TEMPLATE_TEST_CASE("calls before any init are refused", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  int ndev = 5;
  typename AsNccl<TestType>::Handle handle{};
  void* comm = nullptr;
  CHECK(n.net.devices(&ndev) == Result::kInternalError);
  CHECK(n.listen(0, handle, &comm) == Result::kInternalError);
  CHECK(n.connect(0, handle, &comm) == Result::kInternalError);
  CHECK(state().calls.empty());
  if constexpr (requires { n.net.finalize; }) CHECK(n.net.finalize(nullptr) == Result::kSuccess);
}

TEMPLATE_TEST_CASE("after an init the table serves a reload that doesn't call init", "",
                   NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  REQUIRE(n.init() == Result::kSuccess);
  int ndev = 0;
  CHECK(n.net.devices(&ndev) == Result::kSuccess);
  CHECK(ndev == 2);
  void* recv = n.recv_comm();
  CHECK(nnd::net::is_ours(recv));
  n.net.closeRecv(recv);
  CHECK(state().calls["init"].count == 1);
}

TEMPLATE_TEST_CASE("init fails where there is nothing to wrap", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  nnd::net::dependencies().find = [](const void*, int) { return nnd::inner::Found{}; };
  CHECK(n.init() == Result::kInternalError);
  CHECK(state().calls.empty());
  // NCCL 2.28.9 and 2.29.2 finalize what failed.
  if constexpr (requires { n.net.finalize; }) {
    CHECK(n.net.finalize(n.ctx) == Result::kSuccess);
    CHECK(state().calls.empty());
  }
}

TEMPLATE_TEST_CASE("nothing of ours is thrown at NCCL", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  nnd::net::dependencies().find = [](const void*, int) -> nnd::inner::Found {
    throw std::bad_alloc();
  };
  CHECK(n.init() == Result::kInternalError);
}

TEMPLATE_TEST_CASE("the transport's failed init is returned, and its finalize reached", "",
                   NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  state().answer["init"] = Result::kSystemError;
  CHECK(n.init() == Result::kSystemError);
  if constexpr (requires { n.net.finalize; }) {
    CHECK(n.net.finalize(n.ctx) == Result::kSuccess);
    CHECK(state().calls["finalize"].count == 1);
  }
  state().answer.clear();
  CHECK(n.init() == Result::kSuccess);
}

TEMPLATE_TEST_CASE("every init and finalize reaches the transport", "", NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(n.init() == Result::kSuccess);
    CHECK(state().calls["init"].count == i);
    if constexpr (requires { n.net.finalize; }) {
      REQUIRE(n.net.finalize(n.ctx) == Result::kSuccess);
      CHECK(state().calls["finalize"].count == i);
    }
  }
}

TEST_CASE("init is looked up for the module that calls") {
  AsNccl<nccl_abi::NetV8> n;
  const void* seen = nullptr;
  int version = 0;
  const auto find = nnd::net::dependencies().find;
  nnd::net::dependencies().find = [&](const void* caller, int api) {
    seen = caller;
    version = api;
    return find(caller, api);
  };
  REQUIRE(n.init() == Result::kSuccess);
  CHECK(version == 8);
  const auto module = nnd::inner::module_of(seen);
  REQUIRE(module);
  CHECK(module->base == nnd::inner::own_module().base);
}

TEST_CASE("an NCCL that was loaded anew is wrapped anew") {
  AsNccl<nccl_abi::NetV11> n;
  REQUIRE(n.init() == Result::kSuccess);
  static nccl_abi::NetV11 other;
  other = *fake::transport<nccl_abi::NetV11>();
  other.name = "Other";
  other.devices = [](int* ndev) {
    *ndev = 9;
    return Result::kSuccess;
  };
  nnd::net::dependencies().find = [](const void*, int) {
    nnd::inner::Found f;
    f.vtable = &other;
    return f;
  };
  REQUIRE(n.init() == Result::kSuccess);
  int ndev = 0;
  REQUIRE(n.net.devices(&ndev) == Result::kSuccess);
  CHECK(ndev == 9);
  CHECK(std::string(n.net.name) == "Other");
}

TEST_CASE("a second NCCL is refused, and its finalize doesn't reach the first one's transport") {
  AsNccl<nccl_abi::NetV11> n;
  REQUIRE(n.init() == Result::kSuccess);
  const auto find = nnd::net::dependencies().find;
  nnd::net::dependencies().find = [](const void*, int) {
    nnd::inner::Found f;
    f.trouble = nnd::inner::Trouble::kSecondNccl;
    return f;
  };
  void* const first = n.ctx;
  CHECK(n.init() == Result::kInternalError);
  CHECK(n.net.finalize(nullptr) == Result::kSuccess);
  CHECK(state().calls["finalize"].count == 0);
  nnd::net::dependencies().find = find;
  CHECK(n.net.finalize(first) == Result::kSuccess);
  CHECK(state().calls["finalize"].count == 1);
}

TEMPLATE_TEST_CASE("switched off, the table is the transport's own but for init", "",
                   NND_ALL_VERSIONS) {
  AsNccl<TestType> n;
  nnd::net::dependencies().disabled = [] { return true; };
  bool started = false;
  nnd::net::dependencies().start = [&](auto) { started = true; };
  nnd::net::dependencies().found = [&](const auto&, auto, auto) { started = true; };
  nnd::net::dependencies().ready = [&] { started = true; };
  const auto original = n.net.init;
  REQUIRE(n.init() == Result::kSuccess);
  REQUIRE(n.init() == Result::kSuccess);
  CHECK_FALSE(started);
  CHECK(state().calls["init"].count == 2);
  CHECK(n.net.init == original);
  TestType expected = *fake::transport<TestType>();
  expected.init = original;
  CHECK(std::memcmp(&n.net, &expected, sizeof expected) == 0);
}

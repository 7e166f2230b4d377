// Handing NCCL's own GIN backend back to it.
#include "inner/gin.h"

#include "fixture.h"
#include "inner/chain.h"
#include "state/current.h"

using nccl_abi::GinV11;
using nccl_abi::Result;

namespace {

Result own_init(void**, std::uint64_t, nccl_abi::DebugLogger) { return Result::kInternalError; }

// An NCCL whose net transport is wrapped already, as when it calls the GIN init.
struct Nccl {
  Fixture library;
  GinV11 exported{};

  explicit Nccl(const std::string& name, const char* inner = "IB") : library(Fixture::named(name)) {
    exported.name = "GIN_IB";
    exported.init = own_init;
    REQUIRE(nnd::inner::find_inner(inner, library.caller(), 11));
  }
  int& number(const char* name) {
    void* symbol = library.symbol(name);
    REQUIRE(symbol != nullptr);
    return *static_cast<int*>(symbol);
  }
  Result init(void** ctx) {
    return nnd::inner::init_gin(exported, ctx, 7, nullptr, library.caller());
  }
};

class GinType {
 public:
  explicit GinType(const char* value) { setenv("NCCL_GIN_TYPE", value, 1); }
  ~GinType() { unsetenv("NCCL_GIN_TYPE"); }
  GinType(const GinType&) = delete;
  GinType& operator=(const GinType&) = delete;
};

}  // namespace

TEST_CASE("GIN is GDAKI where that has devices") {
  Nccl nccl(GENERATE("nccl_gin", "nccl_gin_stripped"));
  void* ctx = nullptr;
  REQUIRE(nccl.init(&ctx) == Result::kSuccess);
  CHECK(nccl.exported.name == std::string("GIN_IB_GDAKI"));
  CHECK(nccl.exported.init == own_init);
  CHECK(nccl.exported.createContext != nullptr);
  CHECK(nccl.exported.regMrSymDmaBuf == nullptr);
  CHECK(nccl.exported.iput == nullptr);
  CHECK(ctx == &nccl.number("gdaki_inits"));
  CHECK(nccl.number("gdaki_inits") == 2);
  CHECK(nccl.number("gdaki_finalizes") == 1);
  // What is made in there is GIN's.
  *static_cast<int (**)()>(nccl.library.symbol("current_call")) = [] {
    return static_cast<int>(nnd::state::current().call);
  };
  REQUIRE(nccl.exported.connect != nullptr);
  void* comm = nullptr;
  CHECK(nccl.exported.connect(ctx, nullptr, 2, 1, nullptr, &comm) == Result::kSuccess);
  CHECK(static_cast<nnd::state::Call>(nccl.number("connect_call")) == nnd::state::Call::kGin);
  CHECK(nccl.exported.createContext(comm, 0, 0, &ctx, nullptr) == Result::kSuccess);
  CHECK(static_cast<nnd::state::Call>(nccl.number("context_call")) == nnd::state::Call::kGin);
  CHECK(nnd::state::current().call == nnd::state::Call::kNone);
  SECTION("the choice is made once") {
    CHECK(nccl.init(&ctx) == Result::kSuccess);
    CHECK(nccl.number("gdaki_inits") == 3);
    CHECK(nccl.number("gdaki_finalizes") == 1);
  }
}

TEST_CASE("GIN is the proxy where GDAKI has no device") {
  Nccl nccl(GENERATE("nccl_gin", "nccl_gin_stripped"));
  nccl.number("gdaki_devices") = 0;
  void* ctx = nullptr;
  REQUIRE(nccl.init(&ctx) == Result::kSuccess);
  CHECK(nccl.exported.name == std::string("GIN_IB_PROXY"));
  CHECK(nccl.exported.createContext == nullptr);
  CHECK(nccl.exported.ginProgress == nullptr);
  CHECK(nccl.exported.iput != nullptr);
  CHECK(nccl.number("gdaki_finalizes") == 1);
  CHECK(nccl.number("proxy_inits") == 1);
}

TEST_CASE("GIN follows NCCL_GIN_TYPE") {
  void* ctx = nullptr;
  SECTION("proxy") {
    const GinType type("2");
    Nccl nccl("nccl_gin");
    CHECK(nccl.init(&ctx) == Result::kSuccess);
    CHECK(nccl.number("proxy_inits") == 1);
    CHECK(nccl.number("gdaki_inits") == 0);
  }
  SECTION("GDAKI, devices or not") {
    const GinType type("3");
    Nccl nccl("nccl_gin");
    nccl.number("gdaki_devices") = 0;
    CHECK(nccl.init(&ctx) == Result::kSuccess);
    CHECK(nccl.number("gdaki_inits") == 1);
  }
  SECTION("none") {
    const GinType type("0");
    Nccl nccl("nccl_gin");
    CHECK(nccl.init(&ctx) != Result::kSuccess);
  }
}

TEST_CASE("GIN steps aside where NCCL decides itself, and where there is none") {
  void* ctx = nullptr;
  SECTION("NCCL 2.29.7") {
    Nccl nccl("nccl_gin_later");
    CHECK(nccl.init(&ctx) != Result::kSuccess);
    CHECK(nccl.exported.devices == nullptr);
  }
  SECTION("Socket is wrapped") {
    Nccl nccl("nccl_gin", "Socket");
    CHECK(nccl.init(&ctx) != Result::kSuccess);
  }
  SECTION("an NCCL without the tables") {
    Nccl nccl("nccl");
    CHECK(nccl.init(&ctx) != Result::kSuccess);
    CHECK(nccl.exported.devices == nullptr);
  }
}

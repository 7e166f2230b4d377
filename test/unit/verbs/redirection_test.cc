// Whose calls are redirected, and what they get.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <thread>

#include "support/catch.h"
#include "support/sanitizers.h"
#include "world.h"

using nnd::verbs::install;

namespace {

// The protection of every mapped page of a module's file, as /proc/self/maps writes it.
std::string maps_of(const char* file) {
  std::string all;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr)
    if (std::strstr(line, file) != nullptr) all += line;
  (void)std::fclose(maps);
  return all;
}

// Runs in a child of its own, because what it sets lasts as long as the process.
bool in_child(bool (*check)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("A look-up of a wrapped verb gets a wrapper, every other the function itself") {
  World& w = world();
  REQUIRE(w.installed.ok);
  CHECK(w.installed.problem.empty());
  void* wrapper = w.nccl.dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1");
  CHECK(wrapper != nullptr);
  CHECK(wrapper != ::dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1"));
  CHECK(w.nccl.dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1") == wrapper);
  CHECK(w.nccl.dlvsym(w.library, "ibv_fork_init", "IBVERBS_1.1") ==
        ::dlvsym(w.library, "ibv_fork_init", "IBVERBS_1.1"));
  CHECK(w.nccl.dlsym(w.library, "fake_control") == ::dlsym(w.library, "fake_control"));
  CHECK(nnd::verbs::state().first_call_seen);
}

TEST_CASE("A missing optional verb stays missing, with dlerror as the real call leaves it") {
  World& w = world();
  CHECK(w.nccl.dlvsym(w.library, "ibv_query_ece", "IBVERBS_1.10") == nullptr);
  const char* error = w.nccl.dlerror();
  REQUIRE(error != nullptr);
  CHECK(std::strstr(error, "ibv_query_ece") != nullptr);
  // A name of ours at a node where the library doesn't have it.
  CHECK(w.nccl.dlvsym(w.library, "ibv_reg_mr_iova2", "IBVERBS_1.1") == nullptr);
  CHECK(w.nccl.dlerror() != nullptr);
  CHECK(w.nccl.dlvsym(w.library, "ibv_reg_dmabuf_mr", "IBVERBS_1.12") != nullptr);
  CHECK(w.nccl.dlerror() == nullptr);
}

TEST_CASE("The first look-up in a library leaves no error of ours behind") {
  const FakeNccl nccl(NND_NCCL_LAZY);
  void* other = nccl.open(NND_OTHER_VERBS);
  REQUIRE(install(nccl.address, {}).ok);
  CHECK(nccl.dlvsym(other, "ibv_open_device", "IBVERBS_1.1") != nullptr);
  CHECK(nccl.dlerror() == nullptr);
}

TEST_CASE("Read-only slots are redirected and read-only again") {
  const FakeNccl nccl(NND_NCCL_NOW);
  const std::string before = maps_of("nnd_nccl_now");
  REQUIRE(before.find("r--p") != std::string::npos);
  const auto result = install(nccl.address, {});
  CHECK(result.ok);
  CHECK(result.slots == 2);
  CHECK(maps_of("nnd_nccl_now") == before);
  void* library = nccl.open(NND_FAKE_VERBS);
  CHECK(nccl.dlvsym(library, "ibv_modify_qp", "IBVERBS_1.1") !=
        ::dlvsym(library, "ibv_modify_qp", "IBVERBS_1.1"));
}

TEST_CASE("No other module's calls are touched") {
  World& w = world();
  const FakeNccl bystander(NND_NCCL_BYSTANDER);
  CHECK(bystander.dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1") ==
        ::dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1"));
  CHECK(bystander.dlsym(w.library, "ibv_create_qp") == ::dlsym(w.library, "ibv_create_qp"));
  // Nor is dlopen, whose caller decides where the loader searches.
  CHECK(function_in<void*()>(w.nccl.module, "nccl_address_of_dlopen")() ==
        ::dlsym(RTLD_DEFAULT, "dlopen"));
}

TEST_CASE("Installing again changes nothing, from several threads at once too") {
  World& w = world();
  void* before = w.nccl.dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1");
  std::vector<std::thread> threads;
  std::atomic<int> fine{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { fine += install(w.nccl.address, {}).ok ? 1 : 0; });
  for (auto& thread : threads) thread.join();
  CHECK(fine == 4);
  CHECK(w.nccl.dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1") == before);
}

TEST_CASE("dlsym gets wrappers of its own, so that GDAKI's QPs can be told apart") {
  World& w = world();
  void* plain = w.nccl.dlsym(w.library, "ibv_create_qp");
  CHECK(plain != ::dlsym(w.library, "ibv_create_qp"));
  CHECK(plain != w.nccl.dlvsym(w.library, "ibv_create_qp", "IBVERBS_1.1"));
  CHECK(w.nccl.dlsym(w.library, "no_such_name") == nullptr);
  CHECK(w.nccl.dlerror() != nullptr);
}

TEST_CASE("A look-up in a pseudo handle is made on behalf of the module that asks") {
  World& w = world();
  // RTLD_NEXT after a module of the local scope fails for it; after this program it finds libc.
  const FakeNccl bystander(NND_NCCL_BYSTANDER);
  const auto next = [](const FakeNccl& nccl, const char* name) {
    return function_in<void*(const char*)>(nccl.module, "nccl_dlsym_next")(name);
  };
  CHECK(next(w.nccl, "nccl_open") == next(bystander, "nccl_open"));
  CHECK(next(w.nccl, "malloc") == next(bystander, "malloc"));
  CHECK(w.nccl.dlsym(RTLD_DEFAULT, "strlen") == bystander.dlsym(RTLD_DEFAULT, "strlen"));
}

TEST_CASE("A library that only NCCL's own RPATH finds is the one that is used") {
  // The sanitizers' own dlopen stands between, and the loader takes them for the caller.
  if constexpr (nnd::test::kSanitized) return;
  const FakeNccl nccl(NND_NCCL_RPATH);
  REQUIRE(install(nccl.address, {}).ok);
  REQUIRE(::dlopen("libnnd_hidden_verbs.so", RTLD_NOW) == nullptr);
  void* library = nccl.open("libnnd_hidden_verbs.so");
  REQUIRE(library != nullptr);
  const Verbs verbs(nccl, library);
  int count = 0;
  ibv_device** list = verbs.get_device_list(&count);
  REQUIRE(count == 2);
  CHECK(std::string(list[0]->name) == "hidden_0");
  verbs.free_device_list(list);
}

TEST_CASE("An image that links the verbs library has its own slots redirected") {
  void* module = open_module(NND_NCCL_LINKED);
  const auto get = function_in<void*(int)>(module, "nccl_function");
  void* library = open_module(NND_FAKE_VERBS);
  REQUIRE(get(1) == ::dlvsym(library, "ibv_create_qp", "IBVERBS_1.1"));
  const auto result = install(reinterpret_cast<const void*>(get), {});
  CHECK(result.ok);
  CHECK(result.linked);
  CHECK(get(1) != ::dlvsym(library, "ibv_create_qp", "IBVERBS_1.1"));
  CHECK(get(2) == ::dlvsym(library, "ibv_fork_init", "IBVERBS_1.1"));
  // And it works: the real function behind the slot is called.
  ibv_qp qp{};
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  const auto modify = function_in<int(ibv_qp*, ibv_qp_attr*, int)>(module, "nccl_modify");
  CHECK(modify(&qp, &attr, IBV_QP_STATE) == 0);
  CHECK(qp.state == IBV_QPS_INIT);
}

TEST_CASE("An address in no module, or in one without look-ups, is refused with a reason") {
  const int on_stack = 0;
  const auto nowhere = install(&on_stack, {});
  CHECK_FALSE(nowhere.ok);
  CHECK_FALSE(nowhere.problem.empty());
  void* library = open_module(NND_FAKE_VERBS);
  const auto lookless = install(::dlsym(library, "fake_control"), {});
  CHECK_FALSE(lookless.ok);
  CHECK(lookless.problem.find("dlvsym") != std::string::npos);
}

TEST_CASE("NCCL_NET_DIAG_VERBS_LIB forwards to another library") {
  CHECK(in_child([] {
    nnd::config::Settings settings;
    settings.verbs_lib = NND_OTHER_VERBS;
    const FakeNccl nccl(NND_NCCL_NOW);
    if (!install(nccl.address, settings).problem.empty()) return false;
    void* opened = nccl.open(NND_FAKE_VERBS);
    const Verbs verbs(nccl, opened);
    int count = 0;
    ibv_device** list = verbs.get_device_list(&count);
    void* other = open_module(NND_OTHER_VERBS);
    return count == 2 && std::string(list[0]->name) == "other_0" &&
           nccl.dlvsym(opened, "ibv_fork_init", "IBVERBS_1.1") ==
               ::dlvsym(other, "ibv_fork_init", "IBVERBS_1.1");
  }));
  nnd::config::Settings settings;
  settings.verbs_lib = "/nonexistent/libibverbs.so";
  const FakeNccl nccl(NND_NCCL_NOW);
  take_events("env.lint");
  CHECK(install(nccl.address, settings).ok);
  CHECK(install(nccl.address, settings).ok);  // told once
  const auto lint = take_events("env.lint");
  REQUIRE(lint.size() == 1);
  CHECK(lint[0]["variable"] == "NCCL_NET_DIAG_VERBS_LIB");
  CHECK(lint[0]["value"] == "/nonexistent/libibverbs.so");
  CHECK(lint[0]["sev"] == "warn");
}

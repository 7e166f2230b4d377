// A program that uses NCCL in the order its arguments say: lives LIBNCCL STEP... What is loaded
// when, by which thread, and who forks, execs and ends how, differs from framework to framework.
// Each reduction is checked. RANK, WORLD_SIZE and MEET, a directory, are set; NCCL_COMM_ID too,
// unless there is one communicator only.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

// Of NCCL (src/nccl.h.in) and of the CUDA runtime (driver_types.h), as their C interfaces have it.
struct UniqueId {
  char bytes[128];
};
using Comm = void*;
using Stream = void*;
constexpr int kFloat = 7, kSum = 0, kToDevice = 1, kToHost = 2;

constexpr std::size_t kCount = 1 << 16;

char** g_arguments;  // LIBNCCL STEP...
int g_step = 1;
void *g_nccl = nullptr, *g_plugin = nullptr;
std::vector<Comm> g_comms;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "rank %s, step %d (%s): %s\n", std::getenv("RANK"), g_step,
               g_arguments[g_step], what.c_str());
  std::_Exit(1);
}

void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

template <class F>
F* function(void* library, const char* name) {
  auto* const found = reinterpret_cast<F*>(dlsym(library, name));
  if (found == nullptr) fail(std::string(name) + " is missing");
  return found;
}

template <class... A>
void nccl(const char* name, A... arguments) {
  const int rc = function<int(A...)>(g_nccl, name)(arguments...);
  if (rc != 0) fail(std::string(name) + " returned " + std::to_string(rc));
}

template <class... A>
void cuda(const char* name, A... arguments) {
  const int rc = function<int(A...)>(RTLD_DEFAULT, name)(arguments...);
  if (rc != 0) fail(std::string(name) + " returned " + std::to_string(rc));
}

int number(const char* name) { return std::atoi(std::getenv(name)); }

// Until all ranks have come here: who has its sum may still have to send what others need for
// theirs, and may not end before. A step is known by how many follow, also in a program that
// executed itself.
void meet() {
  int rest = 0;
  while (g_arguments[g_step + rest] != nullptr) ++rest;
  const auto mark = [&](int rank) {
    return std::string(std::getenv("MEET")) + "/" + std::to_string(rest) + "." +
           std::to_string(rank);
  };
  expect(std::ofstream(mark(number("RANK"))).good(), "no mark");
  for (int rank = 0; rank < number("WORLD_SIZE"); ++rank)
    while (access(mark(rank).c_str(), F_OK) != 0) usleep(1000);
}

void open_nccl(int how) {
  g_nccl = dlopen(g_arguments[0], RTLD_NOW | how);
  if (g_nccl == nullptr) fail(dlerror());
}

// Known to all where NCCL_COMM_ID is set (2.23 and newer); else rank 0 tells the others.
UniqueId common_id() {
  UniqueId id{};
  const auto file = std::string(std::getenv("MEET")) + "/id";
  const bool first = number("RANK") == 0;
  if (first || std::getenv("NCCL_COMM_ID") != nullptr) nccl("ncclGetUniqueId", &id);
  if (std::getenv("NCCL_COMM_ID") != nullptr) return id;
  if (first) {
    std::ofstream(file + ".new").write(id.bytes, sizeof id.bytes);
    expect(std::rename((file + ".new").c_str(), file.c_str()) == 0, "no id");
  } else {
    while (access(file.c_str(), F_OK) != 0) usleep(1000);
    std::ifstream(file).read(id.bytes, sizeof id.bytes);
  }
  return id;
}

void init() {
  Comm comm = nullptr;
  cuda("cudaSetDevice", 0);
  const UniqueId id = common_id();
  nccl("ncclCommInitRank", &comm, number("WORLD_SIZE"), id, number("RANK"));
  g_comms.push_back(comm);
}

void reduce() {
  const int ranks = number("WORLD_SIZE");
  std::vector<float> host(kCount, static_cast<float>(number("RANK") + 1));
  const std::size_t bytes = kCount * sizeof(float);
  void* gpu = nullptr;
  Stream stream = nullptr;
  cuda("cudaSetDevice", 0);
  cuda("cudaStreamCreate", &stream);
  cuda("cudaMalloc", &gpu, bytes);
  cuda("cudaMemcpyAsync", gpu, static_cast<const void*>(host.data()), bytes, kToDevice, stream);
  nccl("ncclAllReduce", static_cast<const void*>(gpu), gpu, kCount, kFloat, kSum, g_comms.back(),
       stream);
  cuda("cudaMemcpyAsync", static_cast<void*>(host.data()), static_cast<const void*>(gpu), bytes,
       kToHost, stream);
  cuda("cudaStreamSynchronize", stream);
  for (const float sum : host)
    expect(sum == static_cast<float>(ranks * (ranks + 1)) / 2, "the sum is wrong");
  cuda("cudaFree", gpu);
  std::fprintf(stderr, "rank %s: the sum is right\n", std::getenv("RANK"));
  meet();
}

void end(const char* call) {
  nccl(call, g_comms.back());
  g_comms.pop_back();
}

// What the child does; the parent waits for it.
template <class F>
void in_child(F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    f();
    std::_Exit(9);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
}

void run_rest();

void run(std::string_view step) {
  if (step.starts_with("thread:")) return std::thread([&] { run(step.substr(7)); }).join();
  if (step == "open") return open_nccl(RTLD_LOCAL);
  if (step == "open-global") return open_nccl(RTLD_GLOBAL);
  if (step == "close") return expect(dlclose(g_nccl) == 0, "dlclose");
  if (step == "plugin")
    return expect((g_plugin = dlopen("libnccl-net-diag.so", RTLD_NOW)) != nullptr, "no plugin");
  if (step == "unplug") return expect(dlclose(g_plugin) == 0, "dlclose");
  if (step == "init") return init();
  if (step == "reduce") return reduce();
  if (step == "destroy") return end("ncclCommDestroy");
  if (step == "abort") return end("ncclCommAbort");
  if (step == "destroy-at-exit")
    return expect(std::atexit([] { end("ncclCommDestroy"); }) == 0, "atexit");
  if (step == "fork-exit") return in_child([] { std::exit(0); });
  if (step == "fork-_exit") return in_child([] { _exit(0); });
  if (step == "fork-exec") return in_child([] { execl("/bin/true", "true", nullptr); });
  if (step == "fork-rest") {
    in_child([] {
      run_rest();
      std::exit(0);
    });
    std::exit(0);
  }
  if (step == "exec-rest") {
    std::vector<char*> words{const_cast<char*>("/proc/self/exe")};
    words.push_back(g_arguments[0]);
    for (char** word = g_arguments + g_step + 1; *word != nullptr; ++word) words.push_back(*word);
    words.push_back(nullptr);
    execv(words[0], words.data());
    fail("execv");
  }
  if (step == "exit") std::exit(0);
  if (step == "_exit") _exit(0);
  if (step == "quick_exit") std::quick_exit(0);
  if (step == "exit-in-thread") {
    std::thread([] { std::exit(0); }).detach();
    for (;;) pause();
  }
  fail("there is no such step");
}

void run_rest() {
  while (g_arguments[++g_step] != nullptr) run(g_arguments[g_step]);
}

}  // namespace

int main(int, char** argv) {
  g_arguments = argv + 1;
  g_step = 0;
  run_rest();
  return 0;
}

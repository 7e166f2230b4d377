// Two ranks on one real GPU: with different NCCL_HOSTIDs, and P2P and SHM off, a stock NCCL takes
// them for two nodes and uses the network. Verified all-reduces of several sizes; exit 0 only if
// every element on both ranks is right.
//   two_ranks_one_gpu LIBNCCL LIBCUDART [ITERATIONS]
// CUDA and NCCL are opened at run time, so this builds without a toolkit. Run by test/gpu/run, on a
// machine with a GPU.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/softverbs/sysview.h"

namespace {

struct UniqueId {
  char bytes[128];
};
constexpr int kFloat32 = 7;       // ncclFloat32, NCCL v2.28.9-1 src/nccl.h.in
constexpr int kSum = 0;           // ncclSum
constexpr int kHostToDevice = 1;  // cudaMemcpyHostToDevice
constexpr int kDeviceToHost = 2;

template <class F>
F* function(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (!found) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return reinterpret_cast<F*>(found);
}

void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return library;
}

void check(int result, const char* what, int rank) {
  if (result == 0) return;
  std::fprintf(stderr, "rank %d: %s returned %d\n", rank, what, result);
  std::exit(1);
}

int run_rank(int rank, const char* libnccl, const char* libcudart, int iterations, int id_pipe[2]) {
  setenv("NCCL_HOSTID", rank ? "second-node" : "first-node", 1);
  setenv("NCCL_P2P_DISABLE", "1", 1);
  setenv("NCCL_SHM_DISABLE", "1", 1);
  if (const char* hosts[] = {std::getenv("NND_GPU_HOST0"), std::getenv("NND_GPU_HOST1")};
      hosts[rank])
    setenv("SOFTVERBS_HOST", hosts[rank], 1);
  void* cuda = open_library(libcudart);
  void* nccl = open_library(libnccl);
  const char* roots[] = {std::getenv("NND_GPU_SYSFS0"), std::getenv("NND_GPU_SYSFS1")};
  if (roots[rank]) {
    setenv("NCCL_NET_DIAG_SYSFS", roots[rank], 1);
    if (const std::string problem = softverbs::redirect_sysfs(nccl, roots[rank]);
        !problem.empty()) {
      std::fprintf(stderr, "rank %d: %s\n", rank, problem.c_str());
      return 2;
    }
  }
  auto* cuda_malloc = function<int(void**, std::size_t)>(cuda, "cudaMalloc");
  auto* cuda_memcpy = function<int(void*, const void*, std::size_t, int)>(cuda, "cudaMemcpy");
  auto* cuda_sync = function<int()>(cuda, "cudaDeviceSynchronize");
  auto* all_reduce =
      function<int(const void*, void*, std::size_t, int, int, void*, void*)>(nccl, "ncclAllReduce");

  UniqueId id{};
  if (rank == 0) {
    check(function<int(UniqueId*)>(nccl, "ncclGetUniqueId")(&id), "ncclGetUniqueId", rank);
    if (write(id_pipe[1], &id, sizeof id) != sizeof id) return 2;
  } else if (read(id_pipe[0], &id, sizeof id) != sizeof id) {
    return 2;
  }
  void* comm = nullptr;
  check(function<int(void**, int, UniqueId, int)>(nccl, "ncclCommInitRank")(&comm, 2, id, rank),
        "ncclCommInitRank", rank);

  for (std::size_t count :
       {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20, std::size_t{8} << 20}) {
    std::vector<float> host(count);
    void* device = nullptr;
    check(cuda_malloc(&device, count * sizeof(float)), "cudaMalloc", rank);
    for (int i = 0; i < iterations; ++i) {
      for (std::size_t k = 0; k < count; ++k)
        host[k] = static_cast<float>((k + static_cast<std::size_t>(i)) % 1024 +
                                     static_cast<std::size_t>(rank));
      check(cuda_memcpy(device, host.data(), count * sizeof(float), kHostToDevice), "cudaMemcpy",
            rank);
      check(all_reduce(device, device, count, kFloat32, kSum, comm, nullptr), "ncclAllReduce",
            rank);
      check(cuda_sync(), "cudaDeviceSynchronize", rank);
      check(cuda_memcpy(host.data(), device, count * sizeof(float), kDeviceToHost), "cudaMemcpy",
            rank);
      for (std::size_t k = 0; k < count; ++k) {
        const float expected =
            static_cast<float>(2 * ((k + static_cast<std::size_t>(i)) % 1024) + 1);
        if (host[k] != expected) {
          std::fprintf(stderr, "rank %d: element %zu of %zu is %g, not %g\n", rank, k, count,
                       double{host[k]}, double{expected});
          return 1;
        }
      }
    }
    std::printf("rank %d: %zu floats x %d ok\n", rank, count, iterations);
  }
  check(function<int(void*)>(nccl, "ncclCommDestroy")(comm), "ncclCommDestroy", rank);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "two_ranks_one_gpu LIBNCCL LIBCUDART [ITERATIONS]\n");
    return 2;
  }
  int id_pipe[2];
  if (pipe(id_pipe)) return 2;
  std::array<pid_t, 2> ranks{};
  for (int rank = 0; rank < 2; ++rank) {
    ranks[static_cast<std::size_t>(rank)] = fork();
    if (ranks[static_cast<std::size_t>(rank)] == 0)
      std::exit(run_rank(rank, argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 5, id_pipe));
  }
  int worst = 0;
  for (pid_t pid : ranks) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (status) worst = 1;
  }
  std::puts(worst ? "FAILED" : "passed");
  return worst;
}

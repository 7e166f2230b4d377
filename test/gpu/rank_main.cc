// One rank of a real NCCL job on a real GPU: gpu-rank LIBNCCL ID_FILE RANK RANKS. All-reduces of
// several sizes, every element checked. One line on stdout at the end; exit status 0 only when all
// was right.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpu/cuda_driver.h"
#include "softcuda/nccl_api.h"

namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 writes the id beside its place and renames it there, so that nobody reads half of it.
softcuda::NcclUniqueId exchange(const softcuda::NcclApi& nccl, const std::filesystem::path& file,
                                int rank) {
  softcuda::NcclUniqueId id{};
  if (rank == 0) {
    if (nccl.get_unique_id(&id) != 0) throw std::runtime_error("ncclGetUniqueId failed");
    const auto draft = file.string() + ".draft";
    std::ofstream(draft, std::ios::binary)
        .write(id.bytes.data(), static_cast<std::streamsize>(id.bytes.size()));
    std::filesystem::rename(draft, file);
    return id;
  }
  for (const auto end = Clock::now() + std::chrono::seconds(60); Clock::now() < end;) {
    std::ifstream in(file, std::ios::binary);
    if (in.read(id.bytes.data(), static_cast<std::streamsize>(id.bytes.size()))) return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("rank 0 never wrote its id");
}

float element(int rank, std::size_t i) {
  return static_cast<float>(rank + 1) * static_cast<float>(i % 1000);
}

void run(int argc, char** argv) {
  if (argc != 5) throw std::runtime_error("usage: gpu-rank LIBNCCL ID_FILE RANK RANKS");
  const int rank = std::atoi(argv[3]);
  const int ranks = std::atoi(argv[4]);
  nnd::gpu::CudaDriver cuda;
  if (const auto why = cuda.open(); !why.empty()) throw std::runtime_error(why);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  softcuda::NcclApi nccl{};
  if (const auto missing = nccl.load(library); !missing.empty())
    throw std::runtime_error("no " + missing);
  softcuda::NcclComm comm = nullptr;
  const auto check = [&](int result, const char* what) {
    if (result != softcuda::kNcclSuccess)
      throw std::runtime_error(std::string(what) + ": " + nccl.error_string(result) + ", " +
                               nccl.last_error(comm));
  };
  check(nccl.comm_init_rank(&comm, ranks, exchange(nccl, argv[2], rank), rank), "ncclCommInitRank");

  void* stream = cuda.create_stream();
  double gbyte_per_sec = 0;
  std::size_t checked = 0;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 18, std::size_t{1} << 22}) {
    std::vector<float> host(count);
    for (std::size_t i = 0; i < count; ++i) host[i] = element(rank, i);
    const auto bytes = count * sizeof(float);
    const auto from = cuda.allocate(bytes);
    const auto to = cuda.allocate(bytes);
    cuda.to_device(from, host.data(), bytes);
    constexpr int kTimes = 5;
    const auto start = Clock::now();
    for (int i = 0; i < kTimes; ++i)
      check(nccl.all_reduce(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to), count,
                            softcuda::nccl_type(softcuda::Type::kFloat32),
                            softcuda::nccl_operation(softcuda::Operation::kSum), comm, stream),
            "ncclAllReduce");
    cuda.synchronize(stream);
    gbyte_per_sec = kTimes * static_cast<double>(bytes) /
                    std::chrono::duration<double>(Clock::now() - start).count() / 1e9;
    cuda.to_host(host.data(), to, bytes);
    for (std::size_t i = 0; i < count; ++i, ++checked) {
      float sum = 0;
      for (int r = 0; r < ranks; ++r) sum += element(r, i);
      if (host[i] != sum)
        throw std::runtime_error("element " + std::to_string(i) + " of " + std::to_string(count) +
                                 " is wrong");
    }
  }
  check(nccl.comm_destroy(comm), "ncclCommDestroy");
  std::printf("{\"checked\":%zu,\"gbyte_per_sec\":%.3f}\n", checked, gbyte_per_sec);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu-rank: %s\n", error.what());
    return 1;
  }
}

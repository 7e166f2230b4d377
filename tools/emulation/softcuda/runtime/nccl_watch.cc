#include "nccl_watch.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "softcuda/take_over.h"

namespace softcuda {
namespace {

using Loads = unsigned long long;

// How many libraries were ever loaded, which the first of them tells.
Loads loads() {
  Loads count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<Loads*>(out) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// Not its plugins: libnccl-net.so.
bool is_nccl(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("libnccl.so");
}

std::vector<std::string> loaded_nccls() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (is_nccl(info->dlpi_name))
          static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

void write_segment(const std::string& path) {
  const char* file = std::getenv("SOFTCUDA_SEGMENTS");
  if (file == nullptr) return;
  if (std::FILE* out = std::fopen(file, "ae"); out != nullptr) {
    std::fputs((path + "\n").c_str(), out);
    std::fclose(out);
  }
}

// What newer NCCLs and PyTorch do by default and isn't played: collectives on registered buffers,
// and the broadcasts of a group as one kernel (DDP does such). NCCL is told not to, unless somebody
// wants to see it refused.
void keep_from_unplayed() {
  constexpr int kKeepOther = 0;
  for (const char* name : {"NCCL_LOCAL_REGISTER", "NCCL_GRAPH_REGISTER", "NCCL_ALLGATHERV_ENABLE"})
    setenv(name, "0", kKeepOther);
}

std::string take(const std::string& path) {
  keep_from_unplayed();
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return "it is gone again";
  const char* sysfs = std::getenv("SOFTCUDA_SYSFS");
  return take_over(
      handle, {.symbols = {}, .sysfs = sysfs == nullptr ? "" : sysfs, .segment = write_segment});
}

}  // namespace

void watch_for_nccl() {
  static std::atomic<Loads> seen = 0;
  const Loads now = loads();
  if (now == seen.load(std::memory_order_acquire)) return;
  static std::mutex mutex;
  static auto& known = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  for (const std::string& path : loaded_nccls())
    if (known.insert(path).second)
      if (const std::string error = take(path); !error.empty())
        fmt::print(stderr, "softcuda can't be {}'s GPU: {}\n", path, error);
  seen.store(now, std::memory_order_release);
}

}  // namespace softcuda

#include "driver/profiler.h"

#include <dlfcn.h>

#include <memory>

#include "driver/error.h"
#include "driver/logger.h"
#include "nccl_abi/profiler.h"

namespace nnd::driver {

namespace {

using nccl_abi::Result;

struct State {
  explicit State(void* of) : library(of) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { dlclose(library); }

  void* library;
  void* context = nullptr;
  int mask = 0;
};

// A communicator of one rank.
template <class Table>
Profiled begin(std::shared_ptr<State> state, const void* found, std::uint64_t hash) {
  const auto& table = *static_cast<const Table*>(found);
  Result rc{};
  if constexpr (Table::kApi < 4)
    rc = table.init(&state->context, &state->mask);
  else if constexpr (Table::kApi == 4)
    rc = table.init(&state->context, &state->mask, nullptr, hash, 1, 1, 0, log_line);
  else
    rc = table.init(&state->context, hash, &state->mask, nullptr, 1, 1, 0, log_line);
  return {static_cast<int>(rc), [state = std::move(state), &table] {
            return static_cast<int>(table.finalize(state->context));
          }};
}

constexpr decltype(&begin<nccl_abi::ProfilerV1>) kBegin[] = {
    begin<nccl_abi::ProfilerV1>, begin<nccl_abi::ProfilerV2>, begin<nccl_abi::ProfilerV3>,
    begin<nccl_abi::ProfilerV4>, begin<nccl_abi::ProfilerV5>, begin<nccl_abi::ProfilerV6>,
    begin<nccl_abi::ProfilerV7>};

}  // namespace

Profiled begin_profile(const std::string& library, int version, std::uint64_t comm_hash) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error("cannot load " + library + ": " + dlerror());
  auto state = std::make_shared<State>(handle);
  const void* const table = dlsym(handle, ("ncclProfiler_v" + std::to_string(version)).c_str());
  if (table == nullptr) throw Error(library + " has no profiler v" + std::to_string(version));
  return kBegin[version - 1](std::move(state), table, comm_hash);
}

}  // namespace nnd::driver

#include "verbs/qp_retries.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "nccl_abi/releases.h"

namespace nnd::verbs {
namespace {

std::atomic<int> g_nccl_version{0};

// A failed call of ibv_modify_qp is repeated on ETIMEDOUT only, by default 34 times with growing
// sleeps (v2.24.3-1 src/misc/ibvwrap.cc).
bool repeats(int error) noexcept {
  const int version = g_nccl_version.load(std::memory_order_relaxed);
  if (!nccl_abi::kRetriesModifyQp.has(version)) return false;
  const char* all = std::getenv("NCCL_IB_MQP_RETRY_ALL");
  return error == ETIMEDOUT || (all != nullptr && std::strcmp(all, "0") != 0);
}

long repetitions() noexcept {
  const char* count = std::getenv("NCCL_IB_MQP_RETRY_CNT");
  return count == nullptr || *count == '\0' ? 34 : std::strtol(count, nullptr, 0);
}

}  // namespace

void set_nccl_version(int version) noexcept {
  g_nccl_version.store(version, std::memory_order_relaxed);
}

diagnosis::Retries retries_after(int error) noexcept {
  if (!repeats(error)) return {};
  const long count = repetitions();
  return {count, count == 34 && std::getenv("NCCL_IB_MQP_RETRY_SLEEP_MSEC") == nullptr,
          g_nccl_version.load(std::memory_order_relaxed) != 0};
}

bool is_last_attempt(int error, unsigned attempt) noexcept {
  return !repeats(error) || static_cast<long>(attempt) > repetitions();
}

}  // namespace nnd::verbs

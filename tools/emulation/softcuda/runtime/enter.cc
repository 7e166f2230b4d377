// What the exported functions go on to, found out when each is called for the first time; and what
// happens before the first of all calls.
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "entry.h"
#include "nccl_watch.h"
#include "program_api.h"
#include "softcuda/cuda_abi.h"
#include "softcuda/jump.h"
#include "softcuda/unplayed.h"
#include "visible_gpus.h"

namespace softcuda {
namespace {

int answer_unplayed(const char* name) {
  note_unplayed(name);
  return keep_error(kNotSupported);
}

// Those that tell of the program's kernels, while its libraries are being loaded.
bool only_registers(const Entry& entry) {
  return std::string_view(entry.name).starts_with("__cudaRegister");
}

const void* find_target(const Entry& entry) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const void* played = find_program_api(entry.name, entry.release); played != nullptr)
    return played;
  if (const void* played = find_api(entry.name); played != nullptr) return played;
  const void* thunk = make_thunk(entry.name, answer_unplayed);
  if (thunk == nullptr) std::abort();
  return thunk;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

const void* softcuda_before_call(Entry* entry) {
  if (!only_registers(*entry)) {
    see_visible_gpus();
    watch_for_nccl();
  }
  const void* target = entry->target.load(std::memory_order_acquire);
  if (target == nullptr) {
    target = find_target(*entry);
    entry->target.store(target, std::memory_order_release);
  }
  return target;
}

#include "sanitized.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>

#include "softverbs/imports.h"

#ifdef NND_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif
#ifdef NND_ADDRESS_SANITIZER
extern "C" void __lsan_ignore_object(const void* object);
#endif

namespace softcuda {
namespace {

#if defined(NND_THREAD_SANITIZER)
// NCCL hands connections and work over to its proxy thread under a mutex in shared memory, which
// each side maps for itself (src/proxy.cc, ncclProxyConnect and proxyProgressInit): two mutexes for
// ThreadSanitizer, which knows them by their address. All in shared memory are one here.
char all_shared;

// No lock: it would order NCCL's threads too.
struct Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};
};
std::array<Range, 1024> shared_memory;
std::atomic<std::size_t> ranges{0};

void* own_mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  void* const memory = mmap(at, bytes, protection, flags, fd, offset);
  if (memory == MAP_FAILED || (flags & MAP_TYPE) == MAP_PRIVATE) return memory;
  if (const std::size_t i = ranges.fetch_add(1, std::memory_order_relaxed);
      i < shared_memory.size()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    shared_memory[i].end.store(begin + bytes, std::memory_order_relaxed);
    shared_memory[i].begin.store(begin, std::memory_order_relaxed);
  }
  return memory;
}

bool is_shared(const pthread_mutex_t* mutex) {
  const auto at = reinterpret_cast<std::uintptr_t>(mutex);
  return std::any_of(shared_memory.begin(), shared_memory.end(), [at](const Range& range) {
    return at >= range.begin.load(std::memory_order_relaxed) &&
           at < range.end.load(std::memory_order_relaxed);
  });
}

int taken(const pthread_mutex_t* mutex, int result) {
  if (result == 0 && is_shared(mutex)) __tsan_acquire(&all_shared);
  return result;
}

void leaving(const pthread_mutex_t* mutex) {
  if (is_shared(mutex)) __tsan_release(&all_shared);
}

int own_lock(pthread_mutex_t* mutex) { return taken(mutex, pthread_mutex_lock(mutex)); }
int own_trylock(pthread_mutex_t* mutex) { return taken(mutex, pthread_mutex_trylock(mutex)); }
int own_unlock(pthread_mutex_t* mutex) {
  leaving(mutex);
  return pthread_mutex_unlock(mutex);
}
int own_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  leaving(mutex);
  return taken(mutex, pthread_cond_wait(condition, mutex));
}
// Newer releases have the C++ types there.
void own_cxx_wait(std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
  leaving(lock.mutex()->native_handle());
  condition->wait(lock);
  taken(lock.mutex()->native_handle(), 0);
}

const softverbs::Import kImports[] = {
    softverbs::redirected("mmap", own_mmap),
    softverbs::redirected("mmap64", own_mmap),
    softverbs::redirected("pthread_mutex_lock", own_lock),
    softverbs::redirected("pthread_mutex_trylock", own_trylock),
    softverbs::redirected("pthread_mutex_unlock", own_unlock),
    softverbs::redirected("pthread_cond_wait", own_wait),
    softverbs::redirected("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
                          own_cxx_wait)};

#elif defined(NND_ADDRESS_SANITIZER)
// What NCCL itself allocates and still has, or has lost, when a rank ends is not for us to judge. A
// suppression would hide more: every stack of ours has NCCL's frames at its other end.
template <typename Pointer>
Pointer of_nccl(Pointer object) {
  if (object != nullptr) __lsan_ignore_object(object);
  return object;
}

void* own_malloc(std::size_t bytes) { return of_nccl(std::malloc(bytes)); }
void* own_calloc(std::size_t count, std::size_t bytes) {
  return of_nccl(std::calloc(count, bytes));
}
void* own_realloc(void* old, std::size_t bytes) { return of_nccl(std::realloc(old, bytes)); }
int own_posix_memalign(void** to, std::size_t alignment, std::size_t bytes) {
  const int result = posix_memalign(to, alignment, bytes);
  if (result == 0) of_nccl(*to);
  return result;
}
void* own_new(std::size_t bytes) { return of_nccl(::operator new(bytes)); }
void* own_new_array(std::size_t bytes) { return of_nccl(::operator new[](bytes)); }

const softverbs::Import kImports[] = {softverbs::redirected("malloc", own_malloc),
                                      softverbs::redirected("calloc", own_calloc),
                                      softverbs::redirected("realloc", own_realloc),
                                      softverbs::redirected("posix_memalign", own_posix_memalign),
                                      softverbs::redirected("_Znwm", own_new),
                                      softverbs::redirected("_Znam", own_new_array)};
#endif

}  // namespace

std::string tell_sanitizer_of([[maybe_unused]] void* handle) {
#if defined(NND_THREAD_SANITIZER) || defined(NND_ADDRESS_SANITIZER)
  return softverbs::redirect_imports(handle, kImports, std::size(kImports));
#else
  return {};
#endif
}

}  // namespace softcuda

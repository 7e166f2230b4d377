// While one of these lives, this thread plays the HCA (or softcuda's GPU): it touches the memory of
// callers as DMA does, which no lock of theirs orders and which ThreadSanitizer must not take for a
// data race.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define SOFTVERBS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SOFTVERBS_TSAN 1
#endif
#endif

#ifdef SOFTVERBS_TSAN
extern "C" void __tsan_ignore_thread_begin();
extern "C" void __tsan_ignore_thread_end();
#endif

namespace softverbs {

class Dma {
 public:
#ifdef SOFTVERBS_TSAN
  Dma() { __tsan_ignore_thread_begin(); }
  ~Dma() { __tsan_ignore_thread_end(); }
#else
  Dma() {}  // not defaulted: an unused variable of a trivial type would be a warning
  ~Dma() {}
#endif
  Dma(const Dma&) = delete;
  Dma& operator=(const Dma&) = delete;
};

}  // namespace softverbs

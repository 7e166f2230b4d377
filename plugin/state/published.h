// A plain value that one thread at a time writes and any thread reads. Neither waits for the other:
// a reader that met a writer looks again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace nnd::state {

template <class T>
class Published {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;
  using Words = std::array<std::uint64_t, kWords>;

 public:
  void set(const T& value) noexcept {
    Words words;
    words.back() = 0;  // the value may end inside it
    std::memcpy(words.data(), &value, sizeof(T));
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < words.size(); ++i)
      words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  // Another one after each set().
  std::uint32_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  // What was set last. False, and `value` as it was: a writer was inside all the time.
  bool get(T& value) const noexcept {
    Words words;
    for (int tries = 0; tries < 100; ++tries) {
      const std::uint32_t version = version_.load(std::memory_order_acquire);
      if (version % 2 != 0) continue;
      for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = words_[i].load(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) != version) continue;
      std::memcpy(static_cast<void*>(&value), words.data(), sizeof(T));
      return true;
    }
    return false;
  }

 private:
  std::atomic<std::uint32_t> version_{0};
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace nnd::state

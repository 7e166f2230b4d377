// Memory for transfers: page-aligned, gone with the object.
#pragma once

#include <cstddef>

namespace nnd::driver {

inline constexpr std::size_t kPage = 4096;

class Memory {
 public:
  explicit Memory(std::size_t size);  // throws Error where there is none
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return size_; }

 private:
  void* data_;
  std::size_t size_;
};

}  // namespace nnd::driver

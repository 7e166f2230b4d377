#include "driver/memory.h"

#include <sys/mman.h>

#include "driver/error.h"

namespace nnd::driver {

Memory::Memory(std::size_t size) : size_(size) {
  data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) throw Error("no memory for a transfer");
}

Memory::~Memory() { munmap(data_, size_); }

}  // namespace nnd::driver

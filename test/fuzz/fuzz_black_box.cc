// A black box may have been written by a process that died in the middle, or by anybody.
#include <string_view>

#include "log/box.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  nnd::log::read_box(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

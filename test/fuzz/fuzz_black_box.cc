// A black box may have been written by a process that died in the middle, or by anybody.
#include <string_view>

#include "record/box_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  nnd::record::read_box(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

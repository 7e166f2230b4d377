// A dump of PyTorch's Flight Recorder, which may be any pickle, or none.
#include <string_view>

#include "foreign/flight_dump.h"
#include "foreign/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const auto dump =
        nnd::foreign::read_flight_dump("rank_3", {reinterpret_cast<const char*>(data), size});
    if (dump && dump->rank != 3) __builtin_trap();
  } catch (const nnd::foreign::PickleError&) {
  }
  return 0;
}

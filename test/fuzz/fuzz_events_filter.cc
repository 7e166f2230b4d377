// NCCL_NET_DIAG_EVENTS comes from the user; log.dropped stays on whatever it says.
#include <cstdlib>
#include <string_view>

#include "record/filter.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using nnd::record::event_bit;
  const std::uint64_t mask =
      nnd::record::event_filter(std::string_view(reinterpret_cast<const char*>(data), size)).mask;
  if (!(mask & event_bit(nccl_net_diag::EventId::kLogDropped))) std::abort();
  return 0;
}

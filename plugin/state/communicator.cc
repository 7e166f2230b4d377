#include "state/communicator.h"

#include <span>
#include <string_view>

#include "context/memory_order.h"

namespace nnd::state {

namespace {

using context::kRelaxed;

std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }

// 0: not known.
std::uint32_t bytes_of(std::string_view datatype) {
  struct Size {
    std::string_view part;
    std::uint32_t bytes;
  };
  constexpr Size kSizes[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
  const std::size_t digit = datatype.find_first_of("0123456789");
  if (digit == datatype.npos) return 0;
  const std::size_t end = datatype.find_first_not_of("0123456789", digit);
  const std::string_view number = datatype.substr(digit, end - digit);
  for (const Size& size : kSizes)
    if (number == size.part) return size.bytes;
  return 0;
}

// NCCL tells the end of operations of its own net transport (src/transport/net.cc), and from 2.27
// on the begin of all (src/proxy.cc, ncclProxyOpToArgs): those of CollNet and of NVLS, which uses
// it, would be open for ever.
bool are_ends_told(std::string_view algo) { return algo != "NVLS" && !algo.starts_with("COLLNET"); }

void fill(CallCount& count, const CallKind& kind) {
  count.kind = kind;
  count.func = text_of(kind.func);
  count.datatype = text_of(kind.datatype);
  count.algo = text_of(kind.algo);
  count.proto = text_of(kind.proto);
  count.element_bytes = bytes_of(count.datatype);
  count.ends_told = are_ends_told(count.algo);
}

}  // namespace

void CallCount::count(std::uint64_t elements) noexcept {
  const std::uint64_t size = elements * element_bytes;
  calls.fetch_add(1, kRelaxed);
  bytes.fetch_add(size, kRelaxed);
  sizes[bucket_of(size)].fetch_add(1, kRelaxed);
}

CallCount* Communicator::count_of(const CallKind& kind, bool called_only) noexcept {
  const std::span<CallCount> counts =
      called_only ? std::span<CallCount>(called) : std::span<CallCount>(ran);
  for (CallCount& count : counts) {
    CallCount::Use use = count.use.load(std::memory_order_acquire);
    if (use == CallCount::Use::kReady && count.kind == kind) return &count;
    // A place that another thread is filling is passed over: two may come to count one kind.
    if (use != CallCount::Use::kFree ||
        !count.use.compare_exchange_strong(use, CallCount::Use::kBeingMade))
      continue;
    fill(count, kind);
    count.use.store(CallCount::Use::kReady, std::memory_order_release);
    return &count;
  }
  not_counted.fetch_add(1, kRelaxed);
  return nullptr;
}

}  // namespace nnd::state

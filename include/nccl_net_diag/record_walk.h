// Finding records in a black box's ring, whose bytes may be damaged.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nccl_net_diag/black_box.h"
#include "nccl_net_diag/events.h"

namespace nccl_net_diag::box {

constexpr std::uint64_t padded_size(std::uint64_t size) { return (size + 7) & ~std::uint64_t{7}; }

inline std::uint32_t record_checksum(RecordHeader header, std::string_view payload) noexcept {
  header.checksum = 0;
  return Checksum().add(&header, sizeof(header)).add(payload.data(), payload.size()).value();
}

// Whether the header can be that of a record within `room` bytes.
inline bool record_fits(const RecordHeader& header, std::uint64_t room) noexcept {
  return header.size <= room && header.payload_size <= kLargestPayload &&
         header.size == sizeof(header) + padded_size(header.payload_size) &&
         header.event < static_cast<std::uint16_t>(EventId::kCount) &&
         header.severity <= static_cast<std::uint8_t>(Severity::kError);
}

// What may be read of a ring in vain, for so many bytes of it: a ring that was made to look like
// records at every place would otherwise be read once for each of them.
constexpr std::uint64_t vain_bytes(std::uint64_t size) { return 8 * size + kLargestPayload; }

// Finds the first good record at `at` or, past damaged ones, behind it, and moves `at` there; false
// when there is none before `limit`, or where `vain`, the bytes that may still be read in vain, are
// used up. copy_out(at, to, size) gives bytes of the ring. Throws bad_alloc.
template <class CopyOut>
bool find_record(const CopyOut& copy_out, std::uint64_t& at, std::uint64_t limit,
                 RecordHeader& header, std::vector<char>& payload, std::uint64_t& vain) {
  for (; limit - at >= sizeof(header); at += 8) {
    copy_out(at, &header, sizeof(header));
    if (!record_fits(header, limit - at)) continue;
    payload.resize(header.payload_size);
    copy_out(at + sizeof(header), payload.data(), payload.size());
    if (header.checksum == record_checksum(header, {payload.data(), payload.size()})) return true;
    if (vain < header.size) break;
    vain -= header.size;
  }
  at = limit;
  return false;
}

}  // namespace nccl_net_diag::box

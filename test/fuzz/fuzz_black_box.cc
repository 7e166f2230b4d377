// A black box may have been written by a process that died in the middle, or by anybody.
#include <algorithm>
#include <cstring>
#include <string>

#include "log/box.h"

namespace {

namespace box = nccl_net_diag::box;

template <typename Slot>
void mend(std::string& bytes, std::size_t at) {
  Slot slot;
  if (at > bytes.size() || sizeof(slot) > bytes.size() - at) return;
  std::memcpy(&slot, bytes.data() + at, sizeof(slot));
  slot.checksum = 0;
  slot.checksum = box::Checksum().add(&slot, sizeof(slot)).value();
  std::memcpy(bytes.data() + at, &slot, sizeof(slot));
}

// The same with a header that makes sense, and slots whose checksums are right: what these keep out
// is read as well.
std::string mended(std::string bytes) {
  constexpr std::uint32_t kMostSlots = 16;
  box::FileHeader header;
  bytes.resize(std::max(bytes.size(), sizeof(header)));
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(header.magic, box::kMagic, sizeof(header.magic));
  header.version = box::kVersion;
  header.byte_order = box::kByteOrder;
  header.ring_header_size = sizeof(box::RingHeader);
  header.record_header_size = sizeof(box::RecordHeader);
  header.conn_size = sizeof(box::ConnSlot);
  header.ring_size = 64u << (header.ring_size % 6);
  header.ring_stride = sizeof(box::RingHeader) + header.ring_size + 8 * (header.ring_stride % 4);
  header.ring_count %= 4;
  header.comm_count %= kMostSlots;
  header.conn_count %= kMostSlots;
  header.rings_offset %= bytes.size();
  header.conns_offset %= bytes.size();
  header.host[sizeof(header.host) - 1] = header.log_path[sizeof(header.log_path) - 1] = '\0';
  header.checksum = box::Checksum().add(&header, offsetof(box::FileHeader, checksum)).value();
  std::memcpy(bytes.data(), &header, sizeof(header));
  const std::size_t conns = header.conns_offset;
  for (std::uint32_t i = 0; i < header.conn_count; ++i)
    mend<box::ConnSlot>(bytes, conns + i * sizeof(box::ConnSlot));
  for (std::uint32_t i = 1; i <= header.comm_count && i * sizeof(box::CommSlot) <= conns; ++i)
    if (conns - i * sizeof(box::CommSlot) >= sizeof(header))
      mend<box::CommSlot>(bytes, conns - i * sizeof(box::CommSlot));
  return bytes;
}

std::string with_large_ring(const std::string& whole, const std::string& bytes) {
  constexpr std::size_t kRing = std::size_t{16} << 20;
  box::FileHeader header;
  std::memcpy(&header, whole.data(), sizeof(header));
  header.rings_offset = sizeof(header);
  header.ring_count = 1;
  header.ring_size = kRing;
  header.ring_stride = sizeof(box::RingHeader) + kRing;
  header.comm_count = 0;
  header.conn_count = 0;
  header.checksum = box::Checksum().add(&header, offsetof(box::FileHeader, checksum)).value();
  box::RingHeader ring{};
  ring.head = kRing;
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  out.append(reinterpret_cast<const char*>(&ring), sizeof(ring));
  const std::size_t full = out.size() + kRing;
  while (out.size() < full) out += bytes;
  out.resize(full);
  return out;
}

void read(const std::string& bytes) {
  nnd::log::read_box(bytes);
  const auto contents = nnd::log::read_box_tables([&](std::uint64_t offset, std::uint64_t size) {
    return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
  });
  for (const auto& slot : contents.conns)
    nnd::log::seconds_ago(contents.header, slot.last_done_raw);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  const std::string whole = mended(bytes);
  read(whole);
  // A large one, whose ring is this again and again: full of what may look like records.
  constexpr std::uint8_t kNowAndThen = 16;
  if (size > sizeof(box::RecordHeader) && data[0] % kNowAndThen == 0)
    read(with_large_ring(whole, bytes));
  return 0;
}

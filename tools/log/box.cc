#include "log/box.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "nccl_net_diag/record_walk.h"

namespace nnd::log {

namespace box = nccl_net_diag::box;

namespace {

constexpr std::uint64_t kLargest = 1u << 30;  // of an offset or a stride

// Whether [at, at + size) lies in the file; no sum overflows.
bool inside(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

// Of the communicators' places, which end where the connections' begin; 0: there is no room there.
std::uint64_t comm_bytes(const box::FileHeader& h) {
  const std::uint64_t bytes = std::uint64_t{h.comm_count} * sizeof(box::CommSlot);
  return bytes <= h.conns_offset ? bytes : 0;
}

// Of older plugins: the header ends before longest_pause_ns, `awaited` or `latecomer`.
constexpr std::uint32_t kWithoutPauses = 3, kWithoutAwaited = 4, kWithoutLatecomer = 5;

// A file's header from before it was described, of another version, or of something else.
std::string problem_of(const box::FileHeader& h) {
  if (std::memcmp(h.magic, box::kMagic, sizeof(h.magic)) != 0) return "is no black box";
  if (h.byte_order != box::kByteOrder) return "was written on a machine of another byte order";
  if (h.version < kWithoutPauses || h.version > box::kVersion)
    return "has layout version " + std::to_string(h.version);
  if (h.checksum != box::Checksum().add(&h, offsetof(box::FileHeader, checksum)).value())
    return "has a damaged header";
  if (h.ring_header_size != sizeof(box::RingHeader) ||
      h.record_header_size != sizeof(box::RecordHeader) || h.conn_size != sizeof(box::ConnSlot) ||
      !std::has_single_bit(h.ring_size) || h.ring_stride < sizeof(box::RingHeader) ||
      h.ring_stride % 8 != 0 || h.ring_size > h.ring_stride - sizeof(box::RingHeader) ||
      h.ring_stride > kLargest || h.rings_offset > kLargest || h.conns_offset > kLargest ||
      std::memchr(h.host, 0, sizeof(h.host)) == nullptr ||
      std::memchr(h.log_path, 0, sizeof(h.log_path)) == nullptr)
    return "has a header that contradicts itself";
  return {};
}

void read_ring(std::string_view bytes, std::uint64_t offset, BoxContents& contents) {
  const std::uint64_t size = contents.header.ring_size;
  box::RingHeader ring{};
  if (!inside(bytes, offset, sizeof(ring) + size)) {
    ++contents.damaged_rings;
    return;
  }
  std::memcpy(&ring, bytes.data() + offset, sizeof(ring));
  contents.dropped += ring.dropped;
  if (ring.head < ring.tail || ring.head - ring.tail > size || ring.head % 8 != 0 ||
      ring.tail % 8 != 0) {
    ++contents.damaged_rings;
    return;
  }
  const char* data = bytes.data() + offset + sizeof(ring);
  const auto copy_out = [&](std::uint64_t at, void* to, std::size_t n) {
    if (n == 0) return;
    const std::uint64_t place = at & (size - 1);
    const std::size_t first = std::min<std::uint64_t>(n, size - place);
    std::memcpy(to, data + place, first);
    if (first < n) std::memcpy(static_cast<char*>(to) + first, data, n - first);
  };
  std::vector<char> payload;
  bool any = false;
  std::uint32_t due = 0;
  std::uint64_t vain = box::vain_bytes(ring.head - ring.tail);
  for (std::uint64_t at = ring.tail; at != ring.head;) {
    box::RecordHeader header{};
    const std::uint64_t from = at;
    const bool found = box::find_record(copy_out, at, ring.head, header, payload, vain);
    if (at != from) contents.damaged_records += found && any ? header.ordinal - due : 1;
    if (!found) break;
    contents.records.push_back({header, std::string(payload.begin(), payload.end())});
    any = true;
    due = header.ordinal + 1;
    at += header.size;
  }
}

bool contradicts_itself(const box::ConnSlot& slot) {
  return slot.kind >= std::size(box::kKindNames) || slot.stage >= std::size(box::kStageNames) ||
         std::memchr(slot.device, 0, sizeof(slot.device)) == nullptr ||
         std::memchr(slot.netdev, 0, sizeof(slot.netdev)) == nullptr;
}

bool contradicts_itself(const box::CommTask& task) {
  return task.state >= std::size(box::kTaskStateNames) ||
         std::memchr(task.func, 0, sizeof(task.func)) == nullptr;
}

bool contradicts_itself(const box::CommSlot& slot) {
  return std::memchr(slot.name, 0, sizeof(slot.name)) == nullptr ||
         std::any_of(std::begin(slot.last_collectives), std::end(slot.last_collectives),
                     [](const box::CommTask& task) { return contradicts_itself(task); }) ||
         std::any_of(std::begin(slot.last_transfers), std::end(slot.last_transfers),
                     [](const box::CommTask& task) { return contradicts_itself(task); });
}

bool is_free(const box::CommSlot& slot) { return slot.used == 0; }
bool is_free(const box::ConnSlot& slot) { return slot.kind == 0; }

// A place of a communicator or a connection.
template <class Slot>
void read_slot(std::string_view bytes, std::uint64_t offset, std::vector<Slot>& slots,
               unsigned& damaged) {
  Slot slot{};
  if (!inside(bytes, offset, sizeof(slot))) return;
  std::memcpy(&slot, bytes.data() + offset, sizeof(slot));
  if (is_free(slot)) return;
  const std::uint32_t checksum = slot.checksum;
  slot.checksum = 0;
  if (checksum != box::Checksum().add(&slot, sizeof(slot)).value() || contradicts_itself(slot))
    ++damaged;
  else
    slots.push_back(slot);
}

// The places of communicators and connections. `bytes`: the file's from `begin` on, which is no
// further than the first of them. No sum overflows: offsets and strides are below 1 GiB and the
// counters below 2^32.
void read_tables(std::string_view bytes, std::uint64_t begin, BoxContents& contents) {
  const box::FileHeader& h = contents.header;
  const std::uint64_t conns = h.conns_offset - begin, comms = conns - comm_bytes(h);
  for (std::uint64_t at = 0; at < comm_bytes(h) && at < bytes.size(); at += sizeof(box::CommSlot))
    read_slot(bytes, comms + at, contents.comms, contents.damaged_comms);
  for (std::uint64_t i = 0; i < h.conn_count && i * h.conn_size < bytes.size(); ++i)
    read_slot(bytes, conns + i * h.conn_size, contents.conns, contents.damaged_conns);
}

// Also one that is being written.
bool contradicts_itself(const box::AwaitedSlot& slot) {
  box::AwaitedSlot checked = slot;
  checked.checksum = 0;
  return slot.kind >= std::size(box::kAwaitedNames) ||
         slot.checksum != box::Checksum().add(&checked, sizeof(checked)).value() ||
         std::memchr(slot.host, 0, sizeof(slot.host)) == nullptr ||
         std::memchr(slot.msg, 0, sizeof(slot.msg)) == nullptr;
}

bool contradicts_itself(const box::LatecomerSlot& slot) {
  box::LatecomerSlot checked = slot;
  checked.checksum = 0;
  return slot.checksum != box::Checksum().add(&checked, sizeof(checked)).value() ||
         std::memchr(slot.host, 0, sizeof(slot.host)) == nullptr;
}

void read_header(std::string_view bytes, BoxContents& contents) {
  constexpr std::size_t kOldSize = offsetof(box::FileHeader, longest_pause_ns);
  const std::size_t size = std::min(bytes.size(), sizeof(contents.header));
  if (size < kOldSize) {
    contents.problem = "is too short";
    return;
  }
  std::memcpy(&contents.header, bytes.data(), size);
  contents.problem = problem_of(contents.header);
  if (contents.header.version == kWithoutPauses) contents.header.longest_pause_ns = 0;
  box::AwaitedSlot& awaited = contents.header.awaited;
  if (contents.header.version <= kWithoutAwaited || contradicts_itself(awaited)) awaited = {};
  box::LatecomerSlot& late = contents.header.latecomer;
  if (contents.header.version <= kWithoutLatecomer || contradicts_itself(late)) late = {};
}

}  // namespace

BoxContents read_box(std::string_view bytes) {
  BoxContents contents;
  read_header(bytes, contents);
  if (!contents.problem.empty()) return contents;
  const box::FileHeader& h = contents.header;
  for (std::uint64_t i = 0; i < h.ring_count && i * h.ring_stride < bytes.size(); ++i)
    read_ring(bytes, h.rings_offset + i * h.ring_stride, contents);
  read_tables(bytes, 0, contents);
  std::stable_sort(
      contents.records.begin(), contents.records.end(),
      [](const BoxRecord& a, const BoxRecord& b) { return a.header.mono_ns < b.header.mono_ns; });
  return contents;
}

BoxContents read_box_tables(const ReadAt& read) {
  BoxContents contents;
  read_header(read(0, sizeof(contents.header)), contents);
  if (!contents.problem.empty()) return contents;
  const box::FileHeader& h = contents.header;
  const std::uint64_t begin = h.conns_offset - comm_bytes(h);
  const std::uint64_t conns = std::min(h.conn_count, kLargest / h.conn_size) * h.conn_size;
  read_tables(read(begin, std::min(comm_bytes(h) + conns, kLargestBox)), begin, contents);
  return contents;
}

std::uint64_t mono_of(const box::FileHeader& header, std::uint64_t raw) {
  if (raw == 0 || header.raw_hz == 0) return 0;
  const double ticks = raw >= header.raw_base ? static_cast<double>(raw - header.raw_base)
                                              : -static_cast<double>(header.raw_base - raw);
  const double ns = ticks * 1e9 / static_cast<double>(header.raw_hz);
  constexpr double kFarthest = 9e18;  // that fits
  if (std::abs(ns) > kFarthest) return 0;
  return header.raw_base_mono_ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(ns));
}

std::optional<double> seconds_ago(const box::FileHeader& header, std::uint64_t raw) {
  const std::uint64_t at = mono_of(header, raw);
  if (at == 0) return std::nullopt;
  const auto ns = static_cast<std::int64_t>(header.alive_mono_ns - at);
  return std::max(0.0, static_cast<double>(ns) / 1e9);
}

}  // namespace nnd::log

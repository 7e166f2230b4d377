// Black boxes of a few events, for their readers.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "nccl_net_diag/black_box.h"
#include "nccl_net_diag/events.h"
#include "record/pack.h"

namespace nnd::test {

struct MadeBox {
  std::vector<std::uint64_t> times;  // of an event each
  std::string name = "h";            // of its host, and of all else that has one
  bool slots = false;                // a connection and a communicator
};

// A box of one ring, as the plugin lays it out.
inline std::string made_box(const MadeBox& made) {
  namespace box = nccl_net_diag::box;
  constexpr std::size_t kRing = 4096;
  const std::size_t comms = sizeof(box::FileHeader) + sizeof(box::RingHeader) + kRing;
  std::string out(comms + sizeof(box::CommSlot) + sizeof(box::ConnSlot), '\0');
  box::FileHeader header{};
  std::memcpy(header.magic, box::kMagic, sizeof(header.magic));
  header.version = box::kVersion;
  header.byte_order = box::kByteOrder;
  header.rings_offset = sizeof(header);
  header.ring_stride = sizeof(box::RingHeader) + kRing;
  header.ring_size = kRing;
  header.ring_count = 1;
  header.ring_header_size = sizeof(box::RingHeader);
  header.comm_count = 1;
  header.conns_offset = comms + sizeof(box::CommSlot);
  header.conn_count = 1;
  header.conn_size = sizeof(box::ConnSlot);
  header.record_header_size = sizeof(box::RecordHeader);
  header.pid = 7;
  header.proc_id = 0xa;
  header.start_mono_ns = 100;
  header.start_real_ns = 1'767'225'600'000'000'000;  // 2026-01-01
  made.name.copy(header.host, sizeof(header.host) - 1);
  header.checksum = box::Checksum().add(&header, offsetof(box::FileHeader, checksum)).value();
  header.alive_mono_ns = 900;
  header.lines_written = 3;
  std::uint64_t head = 0;
  for (const auto mono_ns : made.times) {
    record::Pack pack;
    pack.add_signed("rc", 0);
    if (made.slots) pack.add("msg", made.name);
    const auto payload = pack.finish();
    box::RecordHeader record{};
    record.payload_size = static_cast<std::uint32_t>(payload.size());
    record.size = static_cast<std::uint32_t>(sizeof(record) + (payload.size() + 7) / 8 * 8);
    record.mono_ns = mono_ns;
    record.event = static_cast<std::uint16_t>(nccl_net_diag::EventId::kCommInit);
    record.checksum =
        box::Checksum().add(&record, sizeof(record)).add(payload.data(), payload.size()).value();
    char* at = out.data() + sizeof(header) + sizeof(box::RingHeader) + head;
    std::memcpy(at, &record, sizeof(record));
    std::memcpy(at + sizeof(record), payload.data(), payload.size());
    head += record.size;
  }
  box::RingHeader ring{};
  ring.head = head;
  std::memcpy(out.data(), &header, sizeof(header));
  std::memcpy(out.data() + sizeof(header), &ring, sizeof(ring));
  if (!made.slots) return out;
  box::CommSlot comm{};
  comm.used = 1;
  comm.hash = 0x1f;
  comm.collectives = 1;
  made.name.copy(comm.name, sizeof(comm.name) - 1);
  made.name.copy(comm.last_collectives[0].func, sizeof(comm.last_collectives[0].func) - 1);
  comm.checksum = box::Checksum().add(&comm, sizeof(comm)).value();
  std::memcpy(out.data() + comms, &comm, sizeof(comm));
  box::ConnSlot conn{};
  conn.kind = 1;
  conn.conn = 1;
  made.name.copy(conn.device, sizeof(conn.device) - 1);
  made.name.copy(conn.netdev, sizeof(conn.netdev) - 1);
  conn.checksum = box::Checksum().add(&conn, sizeof(conn)).value();
  std::memcpy(out.data() + header.conns_offset, &conn, sizeof(conn));
  return out;
}

}  // namespace nnd::test

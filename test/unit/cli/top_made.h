// What `top` sees of processes, made by hand. The boxes' clock counts from 0, with a tick a ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cli/top/view.h"

namespace nnd::test {

namespace box = nccl_net_diag::box;

inline constexpr std::uint64_t kSec = 1'000'000'000;

template <std::size_t kRoom>
void put(char (&to)[kRoom], const std::string& text) {
  to[text.copy(to, kRoom - 1)] = '\0';
}

struct MadeConnection {
  std::uint32_t conn = 1;
  std::string kind = "send", stage = "ready", device = "mlx5_0";
  int rank = -1, peer = -1, channel = 0;
  std::uint64_t started = 0, completed = 0, failed = 0, bytes = 0;
  double posted = 0, done = 0, opened = 0;  // seconds
  std::uint64_t comm = 0;
};

template <std::size_t kNames>
std::uint8_t number_of(const char* const (&names)[kNames], const std::string& name) {
  std::uint8_t i = 0;
  while (name != names[i]) ++i;
  return i;
}

inline std::uint64_t at(double sec) {
  return static_cast<std::uint64_t>(sec * static_cast<double>(kSec));
}

inline box::ConnSlot made(const MadeConnection& one) {
  box::ConnSlot slot{};
  slot.conn = one.conn;
  slot.kind = number_of(box::kKindNames, one.kind);
  slot.stage = number_of(box::kStageNames, one.stage);
  slot.rank = one.rank;
  slot.peer_rank = one.peer;
  slot.channel = one.channel;
  slot.started = one.started;
  slot.completed = one.completed;
  slot.failed = one.failed;
  slot.bytes = one.bytes;
  slot.last_post_raw = at(one.posted);
  slot.last_done_raw = at(one.done);
  slot.opened_mono_ns = at(one.opened);
  slot.comm = one.comm;
  put(slot.device, one.device);
  slot.port = one.device.empty() ? 0 : 1;
  slot.qp_count = 1;
  slot.qps[0] = {21, 34};
  return slot;
}

struct MadeTask {
  std::string func = "AllReduce";
  std::uint64_t seq = 0, bytes = 0;
  std::uint32_t ops = 0, ops_done = 0;
  double changed = 0;
};

inline box::CommTask made(const MadeTask& one) {
  box::CommTask task{};
  put(task.func, one.func);
  task.ordinal = one.seq + 1;
  task.seq = one.seq;
  task.bytes = one.bytes;
  task.ops = one.ops;
  task.ops_done = one.ops_done;
  task.changed_raw = at(one.changed);
  task.state = 3;
  return task;
}

// The newest first.
inline box::CommSlot made_comm(std::uint64_t hash, int rank, int nranks,
                               const std::vector<MadeTask>& collectives) {
  box::CommSlot slot{};
  slot.used = 1;
  slot.hash = hash;
  slot.rank = rank;
  slot.nranks = nranks;
  slot.collectives = collectives.size();
  for (std::size_t i = 0; i < collectives.size(); ++i)
    slot.last_collectives[i] = made(collectives[i]);
  return slot;
}

// A process that shows its last sign of life at that time.
inline cli::SeenProcess made_process(int pid, double alive,
                                     const std::vector<MadeConnection>& conns,
                                     std::vector<box::CommSlot> comms = {}) {
  cli::SeenProcess out;
  out.pid = pid;
  put(out.header.host, "node0");
  out.header.proc_id = 0xa000 + static_cast<std::uint64_t>(pid);
  out.header.raw_hz = kSec;
  out.header.alive_mono_ns = at(alive);
  for (const auto& one : conns) out.conns.push_back(made(one));
  out.comms = std::move(comms);
  return out;
}

// Which has heard whom all wait for.
inline cli::SeenProcess that_awaits(cli::SeenProcess process, const std::string& kind, int rank,
                                    std::uint32_t pid, const std::string& msg) {
  auto& slot = process.header.awaited;
  slot.kind = number_of(box::kAwaitedNames, kind);
  slot.proc = 0xbeef;
  slot.rank = rank;
  slot.pid = pid;
  slot.since_mono_ns = process.header.alive_mono_ns - 5 * kSec;
  put(slot.host, "node1");
  put(slot.msg, msg);
  return process;
}

inline cli::SeenProcess with_rank(cli::SeenProcess process, int rank, int ranks) {
  process.launch.emplace();
  process.launch->rank = rank;
  process.launch->world_size = ranks;
  return process;
}

inline cli::Look made_look(double now, std::vector<cli::SeenProcess> processes) {
  cli::Look out;
  out.mono_ns = at(now);
  out.processes = std::move(processes);
  return out;
}

// The box of such a process, as the plugin lays it out, without events.
inline std::string box_of(const cli::SeenProcess& process) {
  box::FileHeader header = process.header;
  std::memcpy(header.magic, box::kMagic, sizeof(header.magic));
  header.version = box::kVersion;
  header.byte_order = box::kByteOrder;
  header.rings_offset = sizeof(header);
  header.ring_size = 64;
  header.ring_stride = sizeof(box::RingHeader) + header.ring_size;
  header.ring_header_size = sizeof(box::RingHeader);
  header.conns_offset = sizeof(header) + process.comms.size() * sizeof(box::CommSlot);
  header.conn_size = sizeof(box::ConnSlot);
  header.record_header_size = sizeof(box::RecordHeader);
  header.comm_count = static_cast<std::uint32_t>(process.comms.size());
  header.conn_count = process.conns.size();
  header.checksum = box::Checksum().add(&header, offsetof(box::FileHeader, checksum)).value();
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  const auto add = [&](auto slot) {
    slot.checksum = 0;
    slot.checksum = box::Checksum().add(&slot, sizeof(slot)).value();
    out.append(reinterpret_cast<const char*>(&slot), sizeof(slot));
  };
  for (const auto& slot : process.comms) add(slot);
  for (const auto& slot : process.conns) add(slot);
  return out;
}

}  // namespace nnd::test

// Jobs made of a few events, for the analyses.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/report.h"

namespace nnd::report::test {

using log::Direction;
using log::Event;
using log::EventId;
using log::Severity;

constexpr std::uint64_t kSec = 1'000'000'000;
constexpr Ns kBegin = 1'000 * static_cast<Ns>(kSec);  // wall time less CLOCK_MONOTONIC

// A process is told by its number: rank, proc and, two to a host, its host.
class Made {
 public:
  Event event(int process, EventId id, double sec) const {
    Event out;
    out.id = id;
    out.name = nccl_net_diag::event_name(id);
    out.proc = proc(process);
    out.host = host(process);
    out.pid = 100 + process;
    out.mono_ns = static_cast<std::uint64_t>(sec * 1e9);
    out.wall_ns = kBegin + static_cast<Ns>(out.mono_ns);
    return out;
  }
  static std::string proc(int process) { return "0x" + std::to_string(100 + process); }
  static std::string host(int process) { return "host" + std::to_string(process / 2); }
  static std::string gid(int process) { return "gid" + std::to_string(process); }

  void add(const Event& event) { input.job.add(event); }

  void load(int process, double sec = 0, int world = 0) {
    auto out = event(process, EventId::kPluginLoad, sec);
    out.launch.rank = process;
    if (world != 0) out.launch.world_size = world;
    out.nccl_version = "2.28.9";
    add(out);
    auto hca = event(process, EventId::kHcaPort, sec);
    hca.dev = dev(process);
    hca.verdict = "taken";
    add(hca);
  }
  // The HCA of a process is its own.
  static log::Dev dev(int process) {
    log::Dev out;
    out.name = "mlx5_" + std::to_string(process % 2);
    out.port = 1;
    out.gid = gid(process);
    out.subnet = "net" + std::to_string(process % 2);
    return out;
  }

  Event of(int from, int to, Direction dir, EventId id, double sec) const {
    const bool send = dir == Direction::kSend;
    auto out = event(send ? from : to, id, sec);
    out.conn = static_cast<std::uint64_t>(send ? 10 + to : 50 + from);
    out.dir = dir;
    out.link = {proc(to), static_cast<std::uint64_t>(10 + from)};
    out.dev = dev(send ? from : to);
    if (send) out.peer.proc = proc(to);
    out.peer.gid = gid(send ? to : from);
    return out;
  }
  void connect(int from, int to, double sec = 1) {
    for (const auto dir : {Direction::kSend, Direction::kRecv}) {
      add(of(from, to, dir, EventId::kConnOpen, sec));
      add(of(from, to, dir, EventId::kConnReady, sec + 0.1));
    }
  }
  void close(int from, int to, double sec, std::uint64_t in_flight = 0) {
    for (const auto dir : {Direction::kSend, Direction::kRecv}) {
      auto out = of(from, to, dir, EventId::kConnClose, sec);
      out.in_flight = in_flight;
      add(out);
    }
  }
  void fail(int from, int to, const std::string& cause, double sec, std::uint64_t number = 1) {
    auto out = of(from, to, Direction::kSend, EventId::kWcError, sec);
    out.severity = Severity::kError;
    out.cause = cause;
    out.failure = number;
    add(out);
  }
  void stall(int process, const std::string& kind, double sec, double age_sec, int peer = -1,
             Direction dir = Direction::kRecv, const std::string& peer_tcp = "") {
    auto out = peer < 0                  ? event(process, EventId::kConnStall, sec)
               : dir == Direction::kSend ? of(process, peer, dir, EventId::kConnStall, sec)
                                         : of(peer, process, dir, EventId::kConnStall, sec);
    out.kind = kind;
    out.age_us = age_sec * 1e6;
    out.peer_tcp = peer_tcp;
    add(out);
  }
  // The network does not move what it was given; told at warn.
  void stuck_send(int from, int to, double sec, double age_sec) {
    auto out = of(from, to, Direction::kSend, EventId::kConnStall, sec);
    out.kind = "stuck-send";
    out.severity = Severity::kWarn;
    out.cause = "HANG-DATA";
    out.age_us = age_sec * 1e6;
    add(out);
  }
  void end(int process, double sec) { add(event(process, EventId::kSummary, sec)); }
  void box(int process, bool living, double alive_sec, double read_sec = 40) {
    Box out;
    out.living = living;
    out.alive_ns = static_cast<std::uint64_t>(alive_sec * 1e9);
    out.began_ns = out.done_ns = kBegin + static_cast<Ns>(read_sec * 1e9);
    input.boxes[proc(process)] = out;
  }

  // Rings of processes that are loaded and connected, both ways.
  void ring(int processes) {
    for (int i = 0; i < processes; ++i) load(i, 0, processes);
    for (int i = 0; i < processes; ++i) connect(i, (i + 1) % processes);
  }

  Input input;
};

using Calls = std::vector<std::pair<const char*, std::uint64_t>>;

// A communicator is closed: what it was given by then, and how much of that was done.
inline void close(Made& made, int process, double sec, const std::string& comm, const Calls& called,
                  std::uint64_t finished) {
  auto counts = made.event(process, EventId::kCollCount, sec);
  counts.comm = comm;
  for (const auto& [kind, calls] : called) {
    auto& count = counts.called.emplace_back();
    count.kind = kind;
    count.calls = calls;
  }
  auto& ran = counts.ran.emplace_back();
  ran.kind = called.front().first;
  ran.calls = ran.finished = finished;
  made.add(counts);
  auto closed = made.event(process, EventId::kCommFinalize, sec);
  closed.comm = comm;
  made.add(closed);
}

inline std::vector<int> ranks(const Picture& picture, const std::vector<std::size_t>& members) {
  std::vector<int> out;
  for (const auto member : members) out.push_back(picture.members[member].rank.value_or(-1));
  return out;
}

// Its last words: what it had open, what it had asked for and not got; whether it heeds SIGTERM.
inline void leave(Made& made, int process, double sec, std::uint64_t pending,
                  std::optional<int> status = {}, bool heeds = false) {
  auto out = made.event(process, EventId::kSummary, sec);
  out.open = 2;
  out.started = 10 + pending;
  out.completed = 10;
  out.exit_status = status;
  if (heeds) out.catches_sigterm = true;
  made.add(out);
}

inline std::vector<int> lost(const Report& report) {
  std::vector<std::size_t> members;
  for (const auto& loss : report.first.losses) members.push_back(loss.member);
  return ranks(report.picture, members);
}

// A box of a process that had asked for nothing since, or still asks.
inline void box(Made& made, int process, double alive_sec, double asked_sec,
                std::uint64_t pending) {
  made.box(process, false, alive_sec);
  auto& out = made.input.boxes[Made::proc(process)];
  nccl_net_diag::box::ConnSlot slot{};
  slot.conn = 1;
  slot.kind = 3;
  slot.started = 10 + pending;
  slot.completed = 10;
  out.conns.push_back(slot);
  out.asked_ns = static_cast<std::uint64_t>(asked_sec * 1e9);
}

}  // namespace nnd::report::test

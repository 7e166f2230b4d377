// One event of a log or of a black box, typed: the fields that a reader needs, by their names in
// include/nccl_net_diag/event.schema.json. A field that the event has not is empty, zero or unset.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nccl_net_diag/events.h"

namespace nnd::log {

using nccl_net_diag::EventId;
using nccl_net_diag::Severity;

enum class Direction : std::uint8_t { kSend, kRecv };

struct Dev {
  std::string name;  // "mlx5_0"; empty: the event names no device
  std::optional<int> index, port, gid_index, mtu, numa;
  std::optional<std::int64_t> speed_mbps;
  std::string netdev, gid, subnet, link_layer, pci;

  std::string port_name() const;  // "mlx5_0:1"
};

struct Peer {
  std::string proc, host, dev, gid, subnet;
  std::optional<int> rank;
  std::optional<std::int64_t> pid;
};

// The same on both ends of a connection: the listener's process and its listen id.
struct Link {
  std::string proc;  // empty: unknown
  std::uint64_t listen = 0;

  auto operator<=>(const Link&) const = default;
};

struct Qp {
  std::optional<std::uint32_t> num, remote_num;
  std::string from, to;  // "INIT", "RTR"
  std::optional<int> attempt, path_mtu, traffic_class;
};

// A QP of a connection as its transitions left it.
struct ConnectionQp {
  std::optional<std::uint32_t> num, remote_num;
  std::optional<int> attempts, path_mtu, traffic_class;
  std::optional<int> timeout, retry_cnt;       // of 4.096 us times 2 to the power of timeout each
  std::string state;                           // empty: RTS
  double init_us = 0, rtr_us = 0, rts_us = 0;  // spent in its transitions
  std::optional<double> rtr_at_us, rts_at_us;  // when it was there, after the connection began
};

struct Completion {
  std::optional<int> status;
  std::string status_name;
  std::optional<std::uint32_t> vendor_err;
};

struct Launch {
  std::string launcher, job;
  std::string run;  // torchrun's, inside the scheduler's job
  std::optional<int> rank, local_rank, world_size;
  std::optional<int> requeues, restarts;  // how often Slurm, and torchrun, began it anew

  // Whether a communicator of so many ranks (0 and less: not known) is but a part of the launcher's
  // job, which counts otherwise.
  bool has_more_than(int nranks) const { return rank && nranks < world_size.value_or(1); }
};

struct Inner {
  std::string name, method;
};

// What a node or a device is, by the name of the field: "kernel", "firmware", "limits.memlock",
// "env.NCCL_IB_HCA".
using Facts = std::map<std::string, std::string>;

// The requests of a connection that completed, by how long they took.
struct Latency {
  std::uint64_t requests = 0;
  double sum_ns = 0;  // each counted as the middle of its bucket
};

// A collective, send or receive, and how far it is.
struct Task {
  std::string kind;                  // "AllReduce"; empty: none
  std::uint64_t ordinal = 0;         // of the communicator's, from 1; 0: not known
  std::optional<std::uint64_t> seq;  // NCCL's own number
  std::uint64_t bytes = 0;
  std::uint64_t ops = 0, ops_done = 0;  // over the network
  std::uint64_t changed_ns = 0;  // CLOCK_MONOTONIC: an operation began or ended last; 0: not known
};

// A communicator, and the last that it was given to do.
struct LastGiven {
  std::string comm;
  std::optional<int> rank;
  Task task;
  std::optional<std::uint64_t> collectives = {};  // that it was given in all
};

// Whom a process waits for in the end, as the processes of the job told each other.
struct Awaited {
  std::string kind;  // "idle"; empty: nobody told
  std::string proc, host, place;
  std::optional<int> rank;
  std::optional<std::int64_t> pid;
  double age_us = 0;
  Task task;                           // the last that it was given
  std::string other_proc, other_host;  // of a pair, or a ring
  std::optional<int> other_rank;
  Task other_task;  // of a ring: what that one is in
};

// Who comes last to the job's collectives, as its processes told each other while it ran.
struct Latecomer {
  std::optional<int> rank;
  std::string host;
  std::optional<std::int64_t> pid;
  std::uint64_t times = 0, of = 0;  // of the collectives that were compared; of 0: nobody told
  std::uint64_t waited_us = 0;      // for how long the others did, the median
};

// What came through in the time that a communicator was busy with it.
struct Busy {
  std::uint64_t calls = 0, bytes = 0, ns = 0;

  Busy& operator+=(const Busy& other) {
    calls += other.calls;
    bytes += other.bytes;
    ns += other.ns;
    return *this;
  }
};

// Collectives of one kind that a communicator was given or ran.
struct CallCount {
  std::string kind, datatype;
  std::uint64_t calls = 0, finished = 0;  // finished: of those that ran
  std::uint64_t bytes = 0;                // of all; 0: not told
  // By size: as many have at least so many bytes, and less than twice that.
  std::map<std::uint64_t, std::uint64_t> sizes = {};
  std::map<std::uint64_t, Busy> busy = {};  // likewise, of collectives that are over
};

// An entry of a port's GID table.
struct GidEntry {
  int index = -1;
  std::string type;  // "RoCE v2"
};

// By how much the counters of a port have grown.
struct PortCounters {
  std::string name;
  int port = 0;
  std::map<std::string, std::uint64_t> grown;
};

// What a process sent over a port.
struct PortSends {
  std::string name;
  int port = 0;
  std::uint64_t completed = 0, bytes = 0;
  double slowest_us = 0;  // mean of the connection whose requests took longest; 0: none has a time
};

struct Event {
  // Of each.
  std::optional<EventId> id;  // unset: of a newer release
  std::string name;           // "conn.open"
  Severity severity = Severity::kInfo;
  std::string ts, host, proc;
  std::uint64_t mono_ns = 0, seq = 0;
  std::int64_t wall_ns = 0;  // of ts, since 1970; 0: there is none
  std::int64_t pid = 0;
  int schema = 0;  // "v"

  std::optional<int> rank, nranks, channel, error, rc, net_api;  // error: "errno"
  std::optional<std::uint64_t> conn, failure;
  std::optional<Direction> dir;
  std::optional<double> dur_us;
  std::string cause, msg, fix;
  std::string comm, comm_name;  // comm_name: that the program gave it
  Dev dev;
  Peer peer;
  Link link;
  Qp qp;
  Completion wc;

  // plugin.load
  std::string version, nccl_version, log;
  Launch launch;
  Inner inner;
  std::vector<std::string> layers;
  // hca.port, policy.*
  std::string verdict, state, rule;
  std::vector<std::string> reasons;
  std::vector<GidEntry> gids;
  // node.facts, hca.port, gdr.state, policy.loaded
  Facts facts;
  // conn.*, calls that failed
  std::string stage, verb;
  std::string step;                  // init.*
  std::string target;                // init.*, oob.closed: the other end's address
  std::vector<std::string> listens;  // init.ready
  std::optional<double> lived_us, peer_wait_us;
  std::optional<std::uint64_t> bytes, started, completed, failed, in_flight;
  Latency latency;
  std::vector<ConnectionQp> qps;
  // conn.stall, conn.resume
  std::string kind, listener, peer_tcp;
  std::optional<double> age_us, mean_us, usual_us;
  std::optional<std::uint64_t> conns, peers;
  std::map<std::string, std::uint64_t> census;  // what the process's connections do, or wait for
  Task task;
  std::vector<LastGiven> communicators;
  Awaited awaited;  // job.stall
  Latecomer latecomer;
  // coll.count
  std::vector<CallCount> called, ran;
  // port.event
  std::string event;
  // log.dropped, summary
  std::optional<std::uint64_t> events, dropped, total;
  std::optional<std::uint64_t> open;  // connections; started, completed, failed, bytes: of all
  std::optional<int> exit_status;
  std::optional<bool> catches_sigterm;
  std::string nccl_warning;
  std::optional<double> longest_pause_us;
  std::optional<double> oldest_us;  // age of the oldest request in flight
  std::map<std::string, std::uint64_t> causes;
  std::string network, network_msg;  // its verdict, and why
  std::vector<PortCounters> counters;
  std::vector<PortSends> ports;
};

const char* name_of(Direction dir);  // "send", "recv"

}  // namespace nnd::log

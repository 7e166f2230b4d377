// The processes of a job and what each did, built from their events in any order of the processes.
// Every process's events come in the order of its log. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "log/event.h"

namespace nnd::log {

struct Hca {
  Dev dev;
  std::string state, verdict;
  std::vector<std::string> reasons;
  Facts facts;
  std::string gid_type;  // of the address in use
};

struct Transition {
  std::uint64_t mono_ns = 0;  // when it had ended
  Qp qp;
  int rc = 0;
  std::optional<int> error;
  double dur_us = 0;

  bool failed() const { return rc != 0; }
};

// What a process says is wrong: each event that is no info, and each word of the policy.
struct Diagnosis {
  std::string event;     // "qp.transition"
  std::string proc, ts;  // who says it, and when
  std::uint64_t mono_ns = 0, seq = 0;
  Severity severity = Severity::kWarn;
  std::optional<std::uint64_t> conn, failure;  // failure: the same for all events of one failure
  std::optional<Direction> dir;
  std::optional<int> error, rc;
  std::string cause, msg, fix, rule, stage, verb, transition;  // transition: "RTR"
  std::string port_event;                                      // of port.event
  std::string nccl_warning;  // NCCL's own words, where nothing else tells why a call failed
  Completion wc;
  Dev dev;
  Peer peer;
  std::optional<double> dur_us;
};

Diagnosis diagnosis_of(const Event& event);

// How much it says about why a connection failed: 4 the QP's transition that failed, 3 the failed
// completion, 2 the registration, 1 the end of the connection, 0 nothing.
int evidence(const Diagnosis& diagnosis);

// A collective as it is the same for all ranks.
struct Call {
  std::string kind, datatype;
  std::uint64_t bytes = 0;  // at least, and less than twice that; 0: not told

  auto operator<=>(const Call&) const = default;
};
using Calls = std::map<Call, std::uint64_t>;  // how many

// One of NCCL's communicators, as a process tells of it.
struct Communicator {
  std::string name;  // that the program gave it, as PyTorch does; empty: none
  std::optional<int> rank, nranks;
  std::vector<Task> tasks;       // the last collectives that it was given, the newest first
  std::optional<Task> waits_in;  // of those: one that has begun over the network and not ended
  std::uint64_t mono_ns = 0;     // when that was so
  std::uint64_t init_seq = 0;    // of the line that tells of it; 0: none does
  std::uint64_t given = 0;       // collectives in all; 0: none, or not known
  std::uint64_t finished = 0;    // of those, when it was closed
  Calls calls;                   // the collectives of `given`, likewise
  bool exact_sizes = false;      // each of them has as many bytes as its Call says
  std::map<Call, Busy> busy;     // whatever their datatype
  std::uint64_t closed_ns = 0;   // CLOCK_MONOTONIC: destroyed or aborted; 0: it was not
  // Two of the process's communicators had this hash, and nothing tells what is whose. NCCL from
  // 2.27 on (v2.27.7-1 src/init.cc) gives all that are shrunk from one communicator the same.
  bool several = false;
};

// What waited for too long.
struct Stall {
  Diagnosis told;              // the last line of it
  std::uint64_t first_ns = 0;  // CLOCK_MONOTONIC of the first
  std::string kind;
  double age_us = 0;                   // then
  std::uint64_t conns = 1, peers = 1;  // that wait alike
  std::uint64_t in_flight = 0;         // requests of the connection
  std::string listener, comm;
  std::optional<int> rank;  // of that: whose connection it is, which may be a neighbour's (PXN)
  std::string peer_tcp;     // "open" or "closed": see the event; at the last line
  Link link;
  std::optional<double> mean_us, usual_us;
  std::optional<std::uint64_t> ended_ns;  // CLOCK_MONOTONIC: it moves again
};

// A communicator that was still being made.
struct Making {
  // Something was seen that keeps its ranks apart, rather than that somebody waits.
  bool blocked() const;

  Diagnosis told;  // the last line of it
  std::string step, comm;
  std::uint64_t first_ns = 0;  // CLOCK_MONOTONIC of the first
  double age_us = 0;           // at the last
  std::optional<int> error;    // of a connect to the rank that is waited for
};

struct Connection {
  // The first event's; unset where the log begins later.
  std::optional<Direction> dir;
  std::optional<int> channel;
  Link link;
  Dev dev;
  Peer peer;
  std::optional<double> ready_us;  // how long it took until it was ready
  bool closed = false;
  std::optional<double> lived_us;
  std::optional<double> peer_wait_us;  // of a send: that the peer had posted no receive, in all
  std::optional<std::uint64_t> bytes, completed, failed, in_flight;
  std::optional<double> oldest_us;  // age of the oldest request in flight when it was closed
  Latency latency;
  std::uint64_t opened_ns = 0, ready_ns = 0, closed_ns = 0;  // CLOCK_MONOTONIC; 0: not told
  // For how long at least its QPs try again until a request fails as not answered; 0: not told.
  double retries_us = 0;
  std::vector<Transition> transitions;
};

struct Summary {
  std::uint64_t events = 0, dropped = 0;
  std::map<std::string, std::uint64_t> causes;
  std::string network, network_msg;  // its verdict, and why
  std::vector<PortCounters> counters;
  std::size_t communicators = 0;  // that still lived
  std::uint64_t open = 0;         // connections
  std::uint64_t pending = 0;      // requests that had not completed
  std::uint64_t sent = 0;         // bytes
  std::optional<int> exit_status;
  bool catches_sigterm = false;            // it may have been asked to end
  std::optional<double> longest_pause_us;  // of the drain, which means to look 10 times a second
  std::optional<double> oldest_us;         // age of the oldest of those that are pending
  std::vector<PortSends> ports;
  std::string nccl_warning;  // NCCL's last
  Latecomer latecomer;
};

// A listener of another process's NCCL that is gone, as this one sees it.
struct Closed {
  std::string address;  // as in listens_at
  std::uint64_t mono_ns = 0;
  bool refused = false;  // a connection anew; else one that was there was closed
};

struct Process {
  std::string proc, host;
  std::int64_t pid = 0;
  // In the job: of NCCL's largest communicator, where that is as large as the launcher's job; else
  // as the launcher says.
  std::optional<int> rank;
  int ranks_told = -1;  // of the communicator that `rank` is of; -1: the launcher's
  Launch launch;
  std::string version, nccl_version, log;
  std::optional<int> net_api;
  std::vector<std::string> listens_at;  // "10.0.0.12:40211": NCCL, for other ranks
  std::vector<Closed> closed;           // in the log's order
  std::optional<Diagnosis> job_stall;   // the last word of its peers, and
  Awaited awaited;                      // whom it names
  // CLOCK_MONOTONIC: when its first communicator began to be made, and when that one's ranks had
  // met; 0: not told.
  std::uint64_t init_ns = 0, met_ns = 0;
  bool loaded = false;  // plugin.load is there
  Inner wraps;
  std::vector<std::string> layers;
  Facts facts;                             // of its node
  std::map<std::string, std::string> gdr;  // by device: the way of GPUDirect RDMA

  std::uint64_t events = 0;
  std::uint64_t first_ns = 0, last_ns = 0;  // CLOCK_MONOTONIC of its first and last event
  std::int64_t clock_ns = 0;                // wall time less CLOCK_MONOTONIC, at its first event
  std::uint64_t last_seq = 0;
  std::string last_event;

  std::vector<Hca> hcas;           // in the log's order
  std::map<int, Dev> net_devices;  // by NCCL's index
  std::map<std::uint64_t, Connection> connections;
  std::vector<Transition> transitions;                // of QPs that belong to no connection
  std::vector<Diagnosis> diagnoses;                   // in the log's order
  std::vector<Stall> stalls;                          // likewise
  std::optional<Making> making;                       // that waited for long, and was not made
  std::vector<Diagnosis> port_ups;                    // ports that came back
  std::map<std::string, Communicator> communicators;  // by their hash
  std::map<std::uint64_t, std::uint64_t> listens;     // by listen id: CLOCK_MONOTONIC
  std::optional<Summary> summary;
  bool cut_off = false;  // in the middle of a line
};

// The other end of a connection.
struct End {
  const Process* process = nullptr;
  const Connection* connection = nullptr;
};

using Ends = std::unordered_map<const Connection*, End>;

class Job {
 public:
  void add(const Event& event);
  // The processes of another job, but for those that are here already.
  void merge(Job&& other);
  // The last line of its log has no end: it was not collected whole, or nothing could be written.
  void cut_off(const std::string& proc);
  void replace(const std::string& proc, Job&& other);  // by what the other has of that process
  const Process* find(const std::string& proc) const;
  // As it was at the last that is known of it, which a black box knows better than the log.
  void set_communicator(const std::string& proc, const std::string& comm,
                        Communicator communicator);
  // A process that left a black box: of one without a log nothing else is known.
  void add_box(const std::string& proc, const std::string& host, std::int64_t pid,
               std::uint64_t mono_ns, std::uint64_t real_ns);

  // By rank, then by host and process id; those without a rank come last.
  std::vector<const Process*> processes() const;

  // The other end of each connection whose two ends are known. Points into this job; valid until
  // the next add().
  Ends ends() const;

 private:
  std::unordered_map<std::string, Process> processes_;
};

}  // namespace nnd::log

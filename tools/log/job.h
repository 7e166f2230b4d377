// The processes of a job and what each did, built from their events in any order of the processes.
// Every process's events come in the order of its log. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/event.h"

namespace nnd::log {

struct Hca {
  Dev dev;
  std::string state, verdict;
  std::vector<std::string> reasons;
};

struct Transition {
  Dev dev;
  Peer peer;
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
  std::uint64_t mono_ns = 0;
  Severity severity = Severity::kWarn;
  std::optional<std::uint64_t> conn, failure;  // failure: the same for all events of one failure
  std::optional<Direction> dir;
  std::optional<int> error, rc;
  std::string cause, msg, fix, rule, stage, verb, transition;  // transition: "RTR"
  std::string port_event;                                      // of port.event
  Completion wc;
  Dev dev;
  Peer peer;
  std::optional<double> dur_us;
};

Diagnosis diagnosis_of(const Event& event);

// How much it says about why a connection failed: 4 the QP's transition that failed, 3 the failed
// completion, 2 the registration, 1 the end of the connection, 0 nothing.
int evidence(const Diagnosis& diagnosis);

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
  std::optional<std::uint64_t> bytes, completed, failed;
  std::vector<Transition> transitions;
};

struct Summary {
  std::uint64_t events = 0, dropped = 0;
  std::map<std::string, std::uint64_t> causes;
};

struct Process {
  std::string proc, host;
  std::int64_t pid = 0;
  std::optional<int> rank;  // as NCCL or, before, the launcher says
  Launch launch;
  std::string version, nccl_version, log;
  std::optional<int> net_api;
  bool loaded = false;  // plugin.load is there
  Inner wraps;
  std::vector<std::string> layers;

  std::vector<Hca> hcas;           // in the log's order
  std::map<int, Dev> net_devices;  // by NCCL's index
  std::map<std::uint64_t, Connection> connections;
  std::vector<Transition> transitions;  // of QPs that belong to no connection
  std::vector<Diagnosis> diagnoses;     // in the log's order
  std::optional<Summary> summary;
};

// The other end of a connection.
struct End {
  const Process* process = nullptr;
  const Connection* connection = nullptr;
};

class Job {
 public:
  void add(const Event& event);

  // By rank, then by host and process id; those without a rank come last.
  std::vector<const Process*> processes() const;

  // The other end of each connection whose two ends are known. Points into this job; valid until
  // the next add().
  std::map<const Connection*, End> ends() const;

 private:
  std::map<std::string, Process> processes_;
};

}  // namespace nnd::log

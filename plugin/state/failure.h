// Failures of this process. One is diagnosed once, where most is known of it; every later event of
// the same failure takes cause and number from here. A failure belongs to a connection, and to the
// call of NCCL's that this thread is inside. All functions are thread-safe and take a lock: not for
// the data path. Bounded: beyond 4096 the oldest is forgotten.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "context/gid.h"
#include "diagnosis/diagnosis.h"
#include "state/connection.h"

namespace nnd::state {

struct Failure {
  std::uint32_t number = 0;  // 1, 2, ... in this process
  diagnosis::Diagnosis diagnosis;
};

// What it is about, as far as it is known.
struct Subject {
  std::uint32_t conn = 0;  // 0: no connection
  std::string device;      // "mlx5_0:1"
  std::string peer;        // address of its GID: "10.0.1.9"
  context::Gid peer_gid{};
};

// Something failed. From now on it is what this connection, and the call that this thread is
// inside, failed with. `of`: the number of an earlier failure or suspicion that this belongs to.
Failure begin_failure(const Subject& subject, diagnosis::Diagnosis diagnosis, std::uint32_t of = 0);

// A device gave up, and whatever uses it fails with it.
Failure begin_device_failure(const std::string& device, diagnosis::Diagnosis diagnosis);

// The two ends of a connection break a rule. Nothing has failed; what fails later may follow from
// it.
Failure begin_suspicion(const Subject& subject, diagnosis::Diagnosis diagnosis);

// The same of a port ("mlx5_0:1") that tells of itself. Of each cause the last is kept. Connections
// that have just failed on it, as they do where the port has, fail with this from now on: the word
// of a port comes after the end of its requests, now and then.
Failure begin_port_suspicion(const std::string& place, diagnosis::Diagnosis diagnosis);

// Another connection, and this thread's call, fail with it too.
void adopt_failure(std::uint32_t number, std::uint32_t conn);

// What this thread's call failed with, else the connection. None: nothing that is known.
std::optional<Failure> failure_of_call(std::uint32_t conn);
std::optional<Failure> failure_of(std::uint32_t conn);

// Of the device as a whole.
std::optional<Failure> failure_of_device(const std::string& device);

// A broken rule of the connection that fits; the oldest.
using Fits = std::function<bool(const diagnosis::Diagnosis&)>;
std::optional<Failure> suspicion_of(std::uint32_t conn, const Fits& fits);

// What a connection failed with; where nothing has moved over it, the rule also that its ends
// break. Of one that is being made also what other connections of these two ports failed with or
// break, unless one of them came about. The first that fits.
std::optional<Failure> known_of_pair(const Connection& c, const Fits& fits);
// The same of any peer of its port, for the end of a connection that a peer has closed before it
// was known who that is.
std::optional<Failure> known_of_port(const Connection& c, const Fits& fits);
// It is ready.
void came_together(const Connection& c) noexcept;

// What the port told of itself, where it is of this cause.
std::optional<Failure> suspicion_of_port(const std::string& place, nccl_net_diag::Cause cause);

// It works again: what fails from now on is another failure.
void end_failure(std::uint32_t conn) noexcept;
// The connection is gone.
void forget_connection(std::uint32_t conn) noexcept;

// --- for the log

// An event of this failure was emitted; error: as an error.
void count_event(std::uint32_t failure, bool error = false) noexcept;

struct Listed {
  Failure failure;
  Subject subject;
  std::uint64_t events = 0;
  bool error = false;  // one of them was an error
  bool over = false;   // what failed works again, and nothing else failed with it
  Identity about;      // of its connection; id 0: not known
};
// Those of which an event told, by number; a suspicion only when something followed from it. At
// most `limit`; `total` counts all.
struct FailureList {
  std::vector<Listed> first;
  std::uint64_t total = 0;
};
FailureList list_failures(std::size_t limit);

void forget_failures() noexcept;

}  // namespace nnd::state

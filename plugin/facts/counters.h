// What the ports that this process uses have counted since it began to use them: packets,
// retransmissions, errors. A port counts for all who use it, so another job's trouble is in it too.
// Values come from sysfs, whose files may be commands to the HCA's firmware, and of pause frames
// from the interface's driver (ethtool): only sample_counters() reads them, and everything else
// tells what it found last. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_net_diag/causes.h"

namespace nnd::record {
class Pack;
}

namespace nnd::facts {

// By how much each counter has grown, by name; those that have not grown are left out.
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

// What a counter counts, as far as its name tells: drivers have names of their own.
enum class Counter : std::uint8_t {
  kOther,
  kPackets,     // sent, or received
  kTimeout,     // the peer did not acknowledge in time
  kLoss,        // packets sent again or dropped
  kReordered,   // packets that came out of sequence: lost, or only on another way
  kCongestion,  // the fabric asked to slow down: CNP, ECN, pause frames
  kLink         // what the cable spoils
};
Counter kind_of_counter(std::string_view name) noexcept;
inline bool is_trouble(Counter kind) noexcept { return kind >= Counter::kTimeout; }

// Where sysfs is; nothing is counted before. wake: called where a sample is needed soon; it may not
// block. shared: a directory where the user's processes of this node read for each other
// (shared_sample.h); empty: this one reads for itself.
void watch_counters(const std::string& sysfs, void (*wake)() noexcept = nullptr,
                    const std::string& shared = {});

// From the next sample on, for a port that isn't counted yet. Reads nothing.
void count_port(std::string_view device, unsigned port);

// Reads all ports, for as long as the driver takes; where another process has read one within 20 s,
// or since it is needed, takes what that one found. A file that could not be read is
// not read again. One thread at a time.
void sample_counters();

// Since the port's first sample.
Counts counted(std::string_view device, unsigned port);
// As the port itself counts, at the last sample; those that stand at zero too.
Counts last_values(std::string_view device, unsigned port);

// Between the last sample and the last one that is older than since_ns (CLOCK_MONOTONIC), or else
// the oldest that is kept.
struct Growth {
  double sec = 0;
  Counts counts;
};
// None: there are no two samples.
std::optional<Growth> grown_since(std::string_view device, unsigned port, std::uint64_t since_ns);

// A failure whose port's counters are to be read now: they are told when that is done.
struct Need {
  std::string device;
  unsigned port = 0;
  std::uint32_t conn = 0;
  std::uint32_t failure = 0;
  nccl_net_diag::Cause cause{};
};
void need_counters(Need need);
std::vector<Need> take_needs();
// The same for nobody in particular, of that time (CLOCK_MONOTONIC) or later.
void need_counters(std::uint64_t not_before_ns);

using PortName = std::pair<std::string, unsigned>;
std::vector<PortName> counted_ports();

// The port whose counters are being read, and for how long; none: none is.
struct Reading {
  PortName port;
  std::uint64_t since_ns = 0;
};
std::optional<Reading> counters_being_read();

// For the summary.
void add_counters(record::Pack& fields);

}  // namespace nnd::facts

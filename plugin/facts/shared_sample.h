// What one process of a user has read of a port, for the others of the node: sysfs' counters may be
// commands to the HCA's firmware, and a node has as many ranks as GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace nnd::facts {

using Values = std::map<std::string, long, std::less<>>;  // of a port's counters, by name

struct Sample {
  std::uint64_t at_ns = 0;  // CLOCK_MONOTONIC: the reading began
  Values values;
};

using ReadValues = std::function<Values()>;

// The last one in `directory` under that name, where it is of not_before_ns (CLOCK_MONOTONIC) or
// later; else read() makes it, for all. None: another process reads it now, for longer than a
// healthy driver takes. Where the directory isn't this user's and this node's alone, or can't be
// made, each process reads for itself. One thread at a time.
std::optional<Sample> shared_sample(const std::string& directory, const std::string& name,
                                    std::uint64_t not_before_ns, const ReadValues& read);

}  // namespace nnd::facts

// What the HCAs' asynchronous events told of their ports, for the failures that follow from it, and
// who uses a port. Thread-safe; takes a lock: not for the data path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "context/gid.h"
#include "state/current.h"

namespace nnd::state {

struct PortHistory {
  bool down = false;
  unsigned downs = 0;
  std::uint64_t down_ns = 0;  // CLOCK_MONOTONIC, the last time; 0: never
  std::uint64_t up_ns = 0;    // likewise
  // An address that QPs here were made with, and that left the GID table since.
  struct Lost {
    context::Gid gid{};
    std::uint64_t went_ns = 0;  // CLOCK_MONOTONIC, the last time
    bool back = false;
  };
  std::vector<Lost> lost;

  const Lost* find_lost(const context::Gid& gid) const;  // null: it never went
};

void port_went_down(const std::string& device, unsigned port, std::uint64_t mono_ns);
// For how long it was down, in ns; 0: not known.
std::uint64_t port_came_up(const std::string& device, unsigned port, std::uint64_t mono_ns);
void gid_went(const std::string& device, unsigned port, const context::Gid& gid,
              std::uint64_t mono_ns);
void gid_came(const std::string& device, unsigned port, const context::Gid& gid);
// Those that are down now.
struct DownPort {
  std::string device;
  unsigned port = 0;
  std::uint64_t down_ns = 0;  // CLOCK_MONOTONIC
};
std::vector<DownPort> ports_down();
// One that was down when the node was judged: NCCL does without it, and pairs this node's rails
// with others. place: "mlx5_0:1"; empty: there is none.
void note_missing_rail(const std::string& place);
std::string missing_rail();
PortHistory history_of(const std::string& device, unsigned port);
void forget_port_histories() noexcept;

// The connections whose QPs use a port (port 0: any of the device's).
struct PortUsers {
  struct Source {
    unsigned port = 0;
    int gid_index = -1;
    context::Gid gid{};
    bool operator==(const Source&) const = default;
  };
  std::uint64_t connections = 0;
  std::vector<context::Gid> peers;  // each once
  std::vector<Source> sources;      // each once
  Identity first;                   // the oldest of them
};
PortUsers users_of(std::string_view device, unsigned port);

}  // namespace nnd::state

// What happens once per process when NCCL first calls: settings, recorder, verbs layer, finding the
// transport, and saying so. Shared by the tables of all versions. Control path only.
#pragma once

#include <cstdint>
#include <functional>

#include "config/settings.h"
#include "inner/find.h"
#include "nccl_abi/common.h"

namespace nnd::net {

// The doors to the rest of the house; tests put their own in place before the first init.
struct Doors {
  std::function<config::Settings()> load_settings;
  // The recorder; called at every init, so that a forked child starts anew.
  std::function<void(const config::Settings&, nccl_abi::DebugLogger)> start;
  std::function<inner::Found(const void* caller, int api, const config::Settings&)> find;
};
Doors& doors();

// The settings, read at the first call; they live as long as the process. Thread-safe.
const config::Settings& settings();

// At each init, before the transport is looked for.
void begin_session(nccl_abi::DebugLogger logger);

// The transport that this version's table wraps from now on: plugin.load, and one line to NCCL's
// logger. init_rc: what the transport's first init returned.
void tell_loaded(const inner::Found& found, int api, nccl_abi::Result init_rc);
// Nothing is wrapped: NCCL uses its own transport without us.
void tell_not_loaded(const inner::Found& found, int api);

// Event fields "conn" and "link".listen: 1, 2, ... in this process. Thread-safe.
std::uint32_t next_connection_id() noexcept;
std::uint32_t next_listen_id() noexcept;

}  // namespace nnd::net

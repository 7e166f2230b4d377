// What happens once per process when NCCL first calls: settings, recorder, verbs layer, finding the
// transport, and saying so. Shared by the tables of all versions. Control path only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "config/settings.h"
#include "context/current.h"
#include "inner/find.h"
#include "nccl_abi/common.h"

namespace nnd::net {

// What the policy keeps from NCCL; by default nothing. Plain functions: asked at every connect.
struct Refusal {
  // The sentence with which whoever uses the network is to fail; null: the network may be used.
  const char* (*sentence)() noexcept = []() noexcept -> const char* { return nullptr; };
  // Every communicator is to fail, whether or not it uses the network.
  bool (*at_init)() noexcept = []() noexcept { return false; };
  // How many devices the transport has: with the sentence asked for afterwards.
  void (*counted)(int ndev) noexcept = [](int) noexcept {};
  // Seconds after which a connection that isn't ready is an error; 0: never.
  double (*deadline_sec)() noexcept = []() noexcept { return 0.0; };
};

// The port that one of NCCL's devices stands for.
struct PortFacts {
  int number = 0;               // as verbs counts; 0: can't be told, nor can the rest
  context::Gid gid{};           // which its connections will use
  std::uint8_t link_layer = 0;  // as enum ibv link layers
  std::uint8_t roce = 0;        // version of this GID
};

// The doors to the rest of the house; tests put their own in place before the first init.
struct Doors {
  std::function<config::Settings()> load_settings;
  // The recorder; called at every init, so that a forked child starts anew.
  std::function<void(const config::Settings&, nccl_abi::DebugLogger)> start;
  std::function<inner::Found(const void* caller, int api, const config::Settings&)> find;
  // The verbs layer, before NCCL's transport is initialized. Empty, or one sentence why it isn't in
  // place.
  std::function<std::string(const inner::Found&, const void* caller, const config::Settings&)>
      install_verbs;
  // After it was: the HCAs taken and skipped, in one line; empty where nothing is known.
  std::function<std::string()> hca_summary;
  // By what getProperties told; nothing where no HCA has this name.
  std::function<std::optional<PortFacts>(const std::string& name, int nccl_port)> port;
  Refusal refusal{};
};
Doors& doors();

// The settings, read at the first call; they live as long as the process. Thread-safe.
const config::Settings& settings();

// At each init, before the transport is looked for.
void begin_session(nccl_abi::DebugLogger logger);

// plugin.load: what this version's table wraps from now on, or why it wraps nothing and NCCL uses
// its own transport without us. Puts the verbs layer in place in either case.
void tell_loaded(const inner::Found& found, int api, const void* caller);
// After the transport's init: one line to NCCL's logger, once per plugin.load.
void tell_ready() noexcept;

// Event fields "conn" and "link".listen: 1, 2, ... in this process. Thread-safe.
std::uint32_t next_connection_id() noexcept;
std::uint32_t next_listen_id() noexcept;

}  // namespace nnd::net

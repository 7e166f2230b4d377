// What this room asks of the rest of the house, as functions: plugin/session puts them in place
// when the library is loaded, tests their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "context/gid.h"
#include "inner/find.h"
#include "nccl_abi/common.h"
#include "nccl_net_diag/handle_trailer.h"
#include "state/bootstrap.h"
#include "state/failure.h"

namespace nnd::net {

// What the policy keeps from NCCL; by default nothing. Plain functions: asked at every connect.
struct Refusal {
  // With which whoever uses the network is to fail; null: the network may be used.
  const state::Failure* (*failure)() noexcept = []() noexcept -> const state::Failure* {
    return nullptr;
  };
  // Every communicator is to fail, whether or not it uses the network.
  bool (*at_init)() noexcept = []() noexcept { return false; };
  // How many devices the transport has: with the failure asked for afterwards.
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

// The channel between the processes of a job (plugin/peers); by default there is none.
struct Peers {
  // Tells it of a listener of ours: port and secret go into the handle of it.
  void (*listening)(const context::Gid& ip, nccl_net_diag::trailer::Trailer& trailer) noexcept =
      [](const context::Gid&, nccl_net_diag::trailer::Trailer&) noexcept {};
  // And of a handle that NCCL has given us.
  void (*connecting)(const nccl_net_diag::trailer::Trailer& trailer,
                     const context::Gid& ip) noexcept = [](const nccl_net_diag::trailer::Trailer&,
                                                           const context::Gid&) noexcept {};
};

struct Dependencies {
  // Forward everything and do nothing else.
  std::function<bool()> disabled = [] { return false; };
  // At each init, before the transport is looked for; a forked child starts anew.
  std::function<void(nccl_abi::DebugLogger)> start = [](auto) {};
  // The transport whose table has this version of the net API.
  std::function<inner::Found(const void* caller, int api)> find = [](auto, auto) {
    return inner::Found{};
  };
  // What this version's table wraps from now on, or why it wraps nothing and NCCL uses its own
  // transport without us. Before the transport's init.
  std::function<void(const inner::Found&, int api, const void* caller)> found = [](const auto&,
                                                                                   auto, auto) {};
  // After the transport's init.
  std::function<void()> ready = [] {};
  // By what getProperties told; nothing where no HCA has this name.
  std::function<std::optional<PortFacts>(const std::string& name, int nccl_port)> port =
      [](const auto&, auto) { return std::nullopt; };
  // A thread's communicator has met its other ranks.
  void (*met)(const state::Boot&) noexcept = [](const state::Boot&) noexcept {};
  Refusal refusal{};
  Peers peers{};
};
Dependencies& dependencies();

}  // namespace nnd::net

// Where the rules meet the running process: the policy in effect, what it says of this node, and
// what may therefore not be used. State of the process, set once; all functions are thread-safe and
// do nothing before start().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "diagnosis/own.h"
#include "facts/node.h"
#include "policy/policy.h"
#include "state/failure.h"

namespace nnd::guard {

// A process's settings without what a locked policy (policy/locked.h) doesn't let them do. Reads
// the policy file (NCCL_NET_DIAG_POLICY, else /etc/nccl-net-diag/policy.toml where there is one).
// To be called once, before start().
config::Settings settings_in_force(config::Settings settings);

// The policy that was read, or is now, is in effect, and what came of it is told: policy.loaded.
// Later calls do nothing.
void start(const config::Settings& settings);

// The policy for this host and the mode in effect; built-in rules and `warn` before start().
const policy::Policy& rules();
policy::Mode mode();

// Whether network_changed() would know.
bool changes_are_told() noexcept;

// The name of the transport that is wrapped. To be called before judge().
void set_wrapped_transport(const std::string& transport);

// Judges this node, tells facts, verdicts and lint, and keeps the node as the current one. Later
// calls do nothing.
void judge(facts::Node node, const facts::Environment& environment);

// The same of the node that `collect` makes; none: nothing is to be judged. Where judging fails by
// itself, an exception, nobody gets past the rules: in enforce the network is refused, else it is
// said that they don't hold.
void judge_found(const std::function<std::optional<facts::Node>()>& collect,
                 const facts::Environment& environment) noexcept;

// Judging failed: what an exception says. In enforce the network is refused.
void cannot_judge(const char* why) noexcept;

// The kernel's addresses or routes changed since the last call. False before judge().
bool network_changed() noexcept;

// What NCCL's own DMA-BUF test said of a device after the node was judged (observe and warn: in
// enforce the facts come first): the rules on GPUDirect judge it anew and the verdicts are told.
// What may be used stays as it was.
void rejudge_and_tell_gdr(std::string_view device, const facts::GdrState& state);

// What makes enforcement impossible, as one clause. In the modes observe and warn nothing.
void cannot_enforce(const diagnosis::CannotEnforce& seen);

// Null, or the failure with which whoever uses the network is to fail (enforce only). It lives as
// long as the process.
const state::Failure* network_refusal() noexcept;

// NCCL's own TCP transport is what is wrapped: refused where the policy denies TCP.
void tcp_is_wrapped();

// Not only who uses the network fails then, but every communicator: [fallback] when = "init".
bool refuses_at_init() noexcept;

// For the verbs layer: false for what the policy keeps from NCCL (enforce only). No lock.
bool may_see_device(std::string_view device) noexcept;
bool may_see_port(std::string_view device, unsigned port) noexcept;

// Why this port is not like the node's others, as the rules found; null: it is, or isn't judged
// yet. Lives as long as the process.
const diagnosis::Diagnosis* oddity_of(std::string_view device, unsigned port) noexcept;

// A rail of this node that is down or slow, as the rules found: NCCL may then pair this node's
// rails with others. Null: none. Lives as long as the process.
const diagnosis::Diagnosis* rail_short() noexcept;

// "taken: mlx5_0:1/RoCE 400G; refused: mlx5_bond_0:1 (hca.bond)", for one line of NCCL's log.
std::string hca_summary();

// [connect] deadline_sec; 0: none.
double connect_deadline_sec() noexcept;

}  // namespace nnd::guard

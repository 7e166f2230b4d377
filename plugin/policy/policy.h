// What a node and a pair are judged by. A policy without a file is the built-in one. Plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "facts/ip.h"

namespace nnd::policy {

using config::Mode;

// What a broken rule asks for. How far it goes is the mode's: observe tells, warn warns, only
// enforce refuses.
enum class Action : std::uint8_t { kAllow, kWarn, kDeny };

enum class BondRule : std::uint8_t { kAllow, kUnlikePeers, kDeny };
enum class LinkLayerRule : std::uint8_t { kAny, kMajority, kInfiniband, kRoce };
enum class PairSubnet : std::uint8_t { kAny, kRoutable, kSame };
enum class GdrRule : std::uint8_t { kNone, kAny, kDmabuf, kPeermem };
enum class FallbackWhen : std::uint8_t { kUse, kInit };

struct HcaRules {
  std::vector<std::string> allow;  // names or globs; empty: all
  std::vector<std::string> deny;
  BondRule bond = BondRule::kUnlikePeers;
  LinkLayerRule link_layer = LinkLayerRule::kMajority;
  Action outside = Action::kDeny;  // not of the compute fabric, by more than one kind of evidence
  long min_speed_mbps = 0;
  long slow_percent = 75;  // below this share of the siblings' median an HCA is slow
  Action slow = Action::kWarn;
  Action pcie = Action::kWarn;
  Action default_route = Action::kWarn;
  Action vf_with_pf = Action::kDeny;  // where it is clear which of them is meant, else a warning
  Action mtu = Action::kWarn;         // below min_mtu, or below what most siblings have
  long min_mtu = 0;                   // bytes
  Action pkey = Action::kDeny;
  Action lid = Action::kDeny;
  Action phys_state = Action::kWarn;  // active, and the link is not up
  Action unusable = Action::kDeny;
  long min_count = 0;  // HCA ports that must remain
};

struct RoceRules {
  Action empty_gid = Action::kDeny;   // no GID at all, or none that NCCL can read
  Action forced_gid = Action::kDeny;  // NCCL_IB_GID_INDEX names an empty slot
  Action link_local = Action::kWarn;
  Action v1 = Action::kWarn;
  std::vector<facts::IpPrefix> subnets;  // the picked GID must be in one; empty: anywhere
  long traffic_class = -1;               // that every QP must ask for; -1: any
};

struct PairRules {
  PairSubnet subnet = PairSubnet::kRoutable;
  Action family = Action::kDeny;  // IPv4 against IPv6, RoCE v1 against v2
  Action link_layer = Action::kDeny;
  Action mtu = Action::kWarn;
  Action local = Action::kAllow;  // the remote GID is one of this node's own
  Action rail = Action::kAllow;   // the rails of both ends are known and differ
};

struct LimitRules {
  // Bytes of locked memory without CAP_IPC_LOCK. Common limits of 64 KiB and 8 MiB fail real jobs.
  long memlock = 64L << 20;
  long nofile = 1024;
  Action action = Action::kDeny;  // of memlock; too few files is only warned of
};

struct PeersRules {
  // Where the channel between processes (NCCL_NET_DIAG_PEERS) may open its port; unset: anywhere,
  // and empty nowhere.
  std::optional<std::vector<facts::IpPrefix>> subnets;

  bool allow(const facts::IpAddress& address) const;
};

struct FallbackRules {
  Action socket = Action::kWarn;  // warns only where RDMA hardware is here
  FallbackWhen when = FallbackWhen::kUse;
};

struct Policy;

// Rules for some hosts or HCAs, in the order of the file.
struct Override {
  std::string host;    // glob; empty: every host
  std::string device;  // glob; empty: the whole node
  std::vector<std::function<void(Policy&)>> changes;
};

struct Policy {
  std::string source = "built-in rules";  // or the file
  Mode mode = Mode::kWarn;
  bool mode_given = false;
  bool locked = false;  // the environment can only tighten it (locked.h)
  HcaRules hca;
  RoceRules roce;
  PairRules pair;
  GdrRule gdr = GdrRule::kNone;
  Action gdr_none = Action::kWarn;  // a GPU driver is there and no way for GPUDirect
  LimitRules limits;
  bool limits_given = false;  // else they are judged on real hardware only
  FallbackRules fallback;
  PeersRules peers;
  double connect_deadline_sec = 0;  // 0: none
  std::vector<Override> overrides;

  // With the overrides for this host that name no device.
  Policy for_host(std::string_view host) const;
  // Of a policy of for_host(): with those for one device.
  Policy for_device(std::string_view host, std::string_view device) const;
};

// '*', '?' and [...] as the shell has them; a plain name is itself.
bool glob_match(std::string_view pattern, std::string_view name);

enum class Decision : std::uint8_t { kInfo, kWarn, kRefuse };

// observe: kInfo. warn: kWarn. enforce: kRefuse for kDeny, else kWarn.
Decision decide(Action action, Mode mode);

const char* action_text(Action action);
const char* mode_text(Mode mode);

}  // namespace nnd::policy

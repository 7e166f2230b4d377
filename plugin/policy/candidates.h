// The ports that NCCL would take, while they are judged one rule after the other. Internal to this
// room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/device.h"
#include "facts/node.h"
#include "facts/subnet.h"
#include "policy/policy.h"
#include "policy/verdict.h"

namespace nnd::policy {

// Of the node's compute fabric.
enum class Membership : std::uint8_t { kCompute, kDoubtful, kOutside };

struct Candidate {
  const facts::Hca* hca = nullptr;
  const facts::Port* port = nullptr;
  Policy rules;         // with the overrides for this device
  bool out = false;     // denied: no longer anybody's peer
  bool seated = false;  // NCCL has a place for it, once what is denied is gone
  bool either = false;  // a function of a card of which another is used, too; one is not meant
  Membership membership = Membership::kCompute;
  diagnosis::Unlike unlike = {};  // the fabric, where it is
  // The GID that NCCL picks is outside of the fabric's plan, and another of the port's is inside.
  struct ForeignGid {
    facts::IpPrefix plan;
  };
  std::optional<ForeignGid> foreign_gid = {};

  std::string name() const;                                          // "mlx5_0:1"
  const facts::NetDev* netdev(const facts::Network& network) const;  // that carries the address
};

using Candidates = std::vector<Candidate>;

// The candidates of the compute fabric that are still in and have the same link layer, without the
// one asked about.
std::vector<const Candidate*> peers_of(const Candidates& all, const Candidate& one);

long median_speed(const std::vector<const Candidate*>& peers);

// Each rule appends what is broken, without the device and the decision; nothing where the rule is
// off or holds. An empty remedy means: leave it out of NCCL_IB_HCA.
using Rule = void (*)(const facts::Node& node, const Candidates& all, const Candidate& one,
                      std::vector<Verdict>& broken);

// In the order in which they are to be applied. A candidate that one pass denies is no peer in the
// next: what is not of the fabric, then each port by itself, then comparisons.
std::vector<std::vector<Rule>> rule_passes();

void judge_lists(const facts::Node&, const Candidates&, const Candidate&, std::vector<Verdict>&);
void judge_link_layer(const facts::Node&, const Candidates&, const Candidate&,
                      std::vector<Verdict>&);
void judge_own_state(const facts::Node&, const Candidates&, const Candidate&,
                     std::vector<Verdict>&);
void judge_gid(const facts::Node&, const Candidates&, const Candidate&, std::vector<Verdict>&);
void judge_gdr(const facts::Node&, const Candidates&, const Candidate&, std::vector<Verdict>&);
void judge_bond(const facts::Node&, const Candidates&, const Candidate&, std::vector<Verdict>&);
void judge_outside(const facts::Node&, const Candidates&, const Candidate&, std::vector<Verdict>&);
void judge_default_route(const facts::Node&, const Candidates&, const Candidate&,
                         std::vector<Verdict>&);
void judge_speed(const facts::Node&, const Candidates&, const Candidate&, std::vector<Verdict>&);
void judge_mtu(const facts::Node&, const Candidates&, const Candidate&, std::vector<Verdict>&);

}  // namespace nnd::policy

#include "guard/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "facts/refresh.h"
#include "guard/guard.h"
#include "policy/pair.h"
#include "record/fields.h"

namespace nnd::guard {

namespace {

constexpr int kInfiniband = 1;  // as enum ibv link layers
constexpr int kEthernet = 2;

// The rail of a port: what NCCL_IB_HCA says, else its place among the ports that NCCL takes.
int rail_of(const facts::Node& node, const facts::Port* port) {
  if (port->nccl_rail >= 0) return port->nccl_rail;
  int place = 0;
  for (const facts::Hca& hca : node.hcas)
    for (const facts::Port& other : hca.ports) {
      if (&other == port) return place;
      if (other.choice == facts::PortChoice::kTaken) ++place;
    }
  return -1;
}

// The port of this node in whose subnet the address is: the same rail. Null where there is none or
// more than one, since one subnet for all rails tells nothing.
const facts::Port* port_beside(const facts::Node& node, const context::Gid& remote) {
  const facts::IpAddress there = facts::gid_address(remote);
  if (there.link_local()) return nullptr;
  const facts::Port* found = nullptr;
  for (const facts::Hca& hca : node.hcas)
    for (const facts::Port& port : hca.ports) {
      const facts::Gid* gid = port.picked();
      if (port.choice != facts::PortChoice::kTaken || !port.ethernet() || gid == nullptr ||
          !gid->address || !gid->address->contains(there))
        continue;
      if (found != nullptr) return nullptr;
      found = &port;
    }
  return found;
}

// How often a process keeps newer facts for all: those who read the older ones may still do so.
constexpr int kMostKept = 64;

// What the kernel said last, and after how many changes that it told of: until the next one it
// would say the same to each QP again.
struct Asked {
  context::ForkMutex mutex;
  std::shared_ptr<const facts::Node> node;  // null: not asked yet
  std::uint64_t changes = 0;
};

Asked& asked() {
  static context::Immortal<Asked> instance;
  return *instance;
}

std::atomic<std::uint64_t> g_times_changed{0};

// The facts by which a pair is judged: the process's, or newer ones.
class PairFacts {
 public:
  explicit PairFacts(const state::QpInfo& qp) : qp_(qp) {
    if (network_changed()) g_times_changed.fetch_add(1);
    take(asked());
  }

  const facts::Node& node() const { return asked_ ? *asked_ : facts::current_node(); }
  // Whether the kernel was asked since the last change that it told of, or for this pair.
  bool of_now() const { return of_now_; }
  bool changed() const { return !of_now_ && g_times_changed.load() != 0; }

  // NCCL has another GID in the slot than was there, or none was.
  bool other_gid() const {
    const facts::Port* port = node().find(qp_.device, qp_.port);
    if (port == nullptr || qp_.gid_index < 0 || context::gid_zero(qp_.local_gid)) return false;
    const facts::Gid* gid = port->gid(qp_.gid_index);
    return gid == nullptr || gid->raw != qp_.local_gid;
  }

  // False: it doesn't answer.
  bool ask_the_kernel() {
    const std::lock_guard lock(asking());
    if (take(asked()) && !other_gid()) return true;  // another thread asked meanwhile
    const std::uint64_t changes = g_times_changed.load();
    auto fresh = facts::refreshed(node(), {qp_.device, qp_.port, qp_.gid_index, qp_.local_gid});
    if (!fresh) return false;
    static std::atomic<int> kept{0};
    if (!facts::same_network(facts::current_node(), *fresh) &&
        kept.fetch_add(1, std::memory_order_relaxed) < kMostKept)
      facts::set_current_node(*fresh);
    asked_ = std::make_shared<const facts::Node>(std::move(*fresh));
    of_now_ = true;
    Asked& last = asked();
    const std::lock_guard known(last.mutex);
    last.node = asked_;
    last.changes = changes;
    return true;
  }

 private:
  static context::ForkMutex& asking() {
    static context::Immortal<context::ForkMutex> instance{/*held_long=*/true};
    return *instance;
  }
  bool take(Asked& last) {
    const std::lock_guard known(last.mutex);
    asked_ = last.node;
    of_now_ = asked_ && changes_are_told() && last.changes == g_times_changed.load();
    return of_now_;
  }

  const state::QpInfo& qp_;
  std::shared_ptr<const facts::Node> asked_;
  bool of_now_ = false;
};

// What the peer's handle trailer says of its port holds where NCCL uses the GID that came with it.
bool as_announced(const state::QpInfo& qp) {
  return qp.gid_index >= 0 && !context::gid_zero(qp.remote_gid) &&
         qp.conn.peer_gid == qp.remote_gid;
}

// NCCL gives an Ethernet port's GID with a global route, and an InfiniBand peer's LID without one.
int remote_link_layer(const facts::Port& port, const state::QpInfo& qp) {
  if (as_announced(qp) && qp.conn.peer_link_layer != 0) return qp.conn.peer_link_layer;
  if (port.ethernet() && qp.gid_index < 0) return kInfiniband;
  if (port.infiniband() && qp.gid_index >= 0 && context::gid_ipv4(qp.remote_gid)) return kEthernet;
  return 0;
}

policy::Pair pair_of(const facts::Node& node, const facts::Port& port, const state::QpInfo& qp) {
  policy::Pair pair;
  pair.device = qp.device;
  pair.port = qp.port;
  pair.path_mtu = facts::verbs_mtu(qp.path_mtu);
  pair.remote_link_layer = remote_link_layer(port, qp);
  // Only as far as the facts are still true of this GID.
  const facts::Gid* local = port.gid(qp.gid_index);
  if (local == nullptr || local->raw != qp.local_gid) return pair;
  pair.gid_index = qp.gid_index;
  pair.remote = qp.remote_gid;
  pair.traffic_class = qp.traffic_class;
  pair.odd = oddity_of(qp.device, qp.port);
  pair.rail_short = rail_short();
  if (as_announced(qp) && qp.conn.peer_roce != 0)
    pair.remote_type = qp.conn.peer_roce == 1 ? facts::GidType::kRoceV1 : facts::GidType::kRoceV2;
  if (const facts::Port* beside = port_beside(node, pair.remote)) {
    pair.local_rail = rail_of(node, &port);
    pair.remote_rail = rail_of(node, beside);
  }
  return pair;
}

// The way of a QP to itself or to the same port, as NCCL's flush has it.
bool to_itself(const state::QpInfo& qp) {
  return qp.gid_index >= 0 && !context::gid_zero(qp.remote_gid) && qp.local_gid == qp.remote_gid;
}

// Broken pairs of connections that were told. A connection's QPs are made together: those of the
// last few thousand are enough.
struct Told {
  static constexpr std::size_t kMost = 4096;
  context::ForkMutex mutex;
  std::set<std::string> once;
  std::deque<std::string> order;
};

Told& told() {
  static context::Immortal<Told> instance;
  return *instance;
}

std::string key_of(const state::QpInfo& qp) {
  return fmt::format("{} {} {} {} {}", qp.conn.id, qp.device, qp.port, qp.gid_index,
                     context::gid_text(qp.remote_gid));
}

bool first_time(const std::string& key) {
  Told& all = told();
  const std::lock_guard lock(all.mutex);
  if (!all.once.insert(key).second) return false;
  all.order.push_back(key);
  if (all.order.size() > Told::kMost) {
    all.once.erase(all.order.front());
    all.order.pop_front();
  }
  return true;
}

// How the kernel would send to the peer, as far as it was looked at.
void add_route(record::Event& event, const facts::SubnetVerdict& subnet) {
  if (subnet.local.empty()) return;
  const auto add = [&event](record::Key key, const std::string& value) {
    if (!value.empty()) event.add(key, value);
  };
  event.object("route").add("reach", facts::reach_text(subnet.reach));
  event.add("local", subnet.local).add("remote", subnet.remote);
  add("netdev", subnet.netdev);
  add("gateway", subnet.gateway);
  add("neighbour", subnet.neighbour);
  add("why", subnet.why);
  event.end();
}

void emit(const state::QpInfo& qp, const policy::Verdict& verdict,
          const facts::SubnetVerdict& subnet, std::uint32_t failure) {
  using record::Severity;
  const bool refuse = verdict.decision == policy::Decision::kRefuse;
  record::Event event(refuse ? record::EventId::kPolicyRefuse : record::EventId::kPolicyWarn,
                      refuse                                        ? Severity::kError
                      : verdict.decision == policy::Decision::kWarn ? Severity::kWarn
                                                                    : Severity::kInfo);
  record::add_connection(event, qp.conn, qp.owner);
  record::add_device(
      event, {.name = qp.device, .port = qp.port, .gid_index = qp.gid_index, .gid = qp.local_gid});
  record::add_peer(event, {.proc = qp.conn.peer_proc, .gid = qp.remote_gid});
  add_route(event, subnet);
  event.add("rule", verdict.rule)
      .add("fact", verdict.diagnosis.sentence)
      .diagnose(verdict.diagnosis, failure)
      .emit();
}

state::Subject subject_of(const state::QpInfo& qp) {
  return {qp.conn.id, fmt::format("{}:{}", qp.device, qp.port),
          context::gid_zero(qp.remote_gid) ? "" : facts::gid_address(qp.remote_gid).text(),
          qp.remote_gid};
}

// What this connection's refused pair was told as, for its other QPs.
void refuse_again(const state::QpInfo& qp, const diagnosis::Diagnosis& broken) {
  if (const auto known = state::failure_of(qp.conn.id))
    state::adopt_failure(known->number, qp.conn.id);
  else
    state::begin_failure(subject_of(qp), broken);
}

// Judged on facts that hold now: they are read again where the kernel or NCCL says that something
// changed, and before anything is said against a pair.
policy::PairJudgement judge(PairFacts& facts, const state::QpInfo& qp) {
  if (facts.changed() || facts.other_gid()) facts.ask_the_kernel();
  const auto judged = [&] {
    const facts::Node& node = facts.node();
    const facts::Port* port = node.find(qp.device, qp.port);
    if (port == nullptr) return policy::PairJudgement();
    const policy::Pair pair = pair_of(node, *port, qp);
    if (pair.remote_link_layer != 0)  // not by the QP of NCCL's flush, which goes to this port
      state::current().peer_link_layer = static_cast<std::uint8_t>(pair.remote_link_layer);
    return policy::judge_pair(node, rules(), mode(), pair);
  };
  policy::PairJudgement out = judged();
  if (out.verdicts.empty() || facts.of_now()) return out;
  return facts.ask_the_kernel() ? judged() : out;
}

bool judged_well(const state::QpInfo& qp) {
  // The path of those whom the placeholder doesn't reach: GIN, a communicator without us.
  if (const state::Failure* const refusal = network_refusal()) {
    state::adopt_failure(refusal->number, qp.conn.id);
    return false;
  }
  if (facts::current_node().find(qp.device, qp.port) == nullptr || to_itself(qp)) return true;
  PairFacts facts(qp);
  const policy::PairJudgement judged = judge(facts, qp);
  if (judged.verdicts.empty()) return true;
  const bool first = first_time(key_of(qp));
  for (std::size_t i = 0; first && i < judged.verdicts.size(); ++i) {
    const diagnosis::Diagnosis& broken = judged.verdicts[i].diagnosis;
    const state::Failure failure = judged.refused == i
                                       ? state::begin_failure(subject_of(qp), broken)
                                       : state::begin_suspicion(subject_of(qp), broken);
    emit(qp, judged.verdicts[i], judged.subnet, failure.number);
  }
  if (judged.refused && !first) refuse_again(qp, judged.verdicts[*judged.refused].diagnosis);
  return !judged.refused;
}

}  // namespace

bool may_pair(const state::QpInfo& qp) noexcept {
  try {
    return judged_well(qp);
  } catch (const std::exception& error) {
    cannot_judge(error.what());
  } catch (...) {
    cannot_judge("an unknown error");
  }
  return mode() != policy::Mode::kEnforce;
}

}  // namespace nnd::guard

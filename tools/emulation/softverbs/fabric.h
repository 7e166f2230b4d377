// Who reaches whom: looks up addresses, and answers what a kernel or a subnet would when a QP is
// moved to RTR. What changes while processes run (links, lost hosts) is in LinkState.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "softverbs/scenario.h"

namespace softverbs {

struct Endpoint {
  const Host* host = nullptr;
  const Hca* hca = nullptr;
  const Port* port = nullptr;

  bool operator==(const Endpoint& other) const { return port == other.port; }
  explicit operator bool() const { return port != nullptr; }
};

class LinkState {
 public:
  void set_link(const std::string& host, const std::string& hca, int port, bool up);
  void set_lost(const std::string& host, bool lost);

  int port_state(const Endpoint& end) const;  // enum ibv_port_state
  bool reachable(const Endpoint& end) const;  // its link is up and its host is there
  bool joined(const Endpoint& a, const Endpoint& b) const { return reachable(a) && reachable(b); }

 private:
  std::map<std::tuple<std::string, std::string, int>, bool> links_;  // what differs from the file
  std::set<std::string> lost_;
};

// An address vector as ibv_modify_qp gets it.
struct Destination {
  bool global = false;
  Gid dgid{};
  std::uint16_t dlid = 0;
  int sgid_index = 0;
};

struct Resolution {
  int error = 0;     // errno of the transition to RTR
  int delay_ms = 0;  // before the answer comes
  Endpoint peer;     // nobody: packets are lost
};

class Fabric {
 public:
  explicit Fabric(const Scenario& scenario);  // keeps a reference

  Endpoint endpoint(const std::string& host, const std::string& hca, int port) const;
  Endpoint by_gid(const Gid& gid) const;
  Endpoint by_lid(const std::string& network, std::uint16_t lid) const;

  // Errnos as Linux gives them for RoCE (neighbour look-up in the kernel): EINVAL for another
  // family, ENODATA for an empty local GID, ENETUNREACH and ETIMEDOUT where there is no way.
  // InfiniBand asks nobody: a wrong address loses packets.
  Resolution resolve(const Endpoint& local, const Destination& to, const LinkState& links) const;

 private:
  Resolution resolve_roce(const Endpoint& local, const Destination& to,
                          const LinkState& links) const;
  bool on_link(const Endpoint& local, const Gid& to, const Endpoint& peer) const;
  const Route* route(const Gid& from, const Gid& to) const;

  const Scenario& scenario_;
  std::map<Gid, Endpoint> gids_;
  std::map<std::pair<std::string, std::uint16_t>, Endpoint> lids_;
};

}  // namespace softverbs

// The hosts of a drawn job, as a scenario: healthy by default, and what a fault changes of it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nnd::verdict {

struct HcaChange {
  std::string address;  // with its prefix, in place of the plan's
  std::string keys;     // more of [[host.hca]]
};

struct Fabric {
  std::vector<std::string> hosts;
  int gpus = 1, hcas = 2;
  int shift = 0;                                     // GPU i is beside HCA (i + shift) modulo hcas
  bool routed = false;                               // a router joins the rails
  int net = 200;                                     // 10.net.rail.host
  std::string front;                                 // more of each host, before its HCAs
  std::string faults;                                // [[fault]] tables
  std::map<std::pair<int, int>, HcaChange> changes;  // by host and HCA

  int hca_of(int gpu) const { return (gpu + shift) % hcas; }
  std::string hca_name(int hca) const;
  std::string address(int host, int hca) const;  // of the plan, with its prefix
  std::string address_in_effect(int host, int hca) const;
  std::string toml() const;
};

}  // namespace nnd::verdict

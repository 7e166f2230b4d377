// A node as it is judged in each mode: one rank per mode on the scenario's first host, from loading
// to the devices that NCCL sees, and what was logged of it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "integration/harness.h"

namespace nnd::integration {

using Environment = std::map<std::string, std::string>;

// What the ranks run in, beside their environment.
struct Surroundings {
  std::vector<std::string> wrapper = {};  // a command that starts the rank
  std::string conf = {};                  // ~/.nccl.conf; empty: none
};

// One rank, from start to the devices; it is still there for more.
struct JudgedRank {
  std::string mode;
  int init_rc = -1;
  int devices_rc = -1;
  std::set<std::string> devices;  // "mlx5_0:1", by getProperties
};

class Judged {
 public:
  // `policy`: the file's text; empty: none.
  Judged(const std::string& scenario, const std::string& policy,
         const Environment& environment = {},
         const std::vector<std::string>& modes = {"observe", "warn", "enforce"},
         const Surroundings& surroundings = {});

  const std::vector<JudgedRank>& ranks() const { return judged_; }
  driver::RankProcess& rank(std::size_t index) { return job_->rank(static_cast<int>(index)); }
  // Ends the ranks. The events of one are complete then.
  void end();
  std::vector<json> log(std::size_t index) const;
  // "policy.warn warn hca.bond DEV-BOND mlx5_bond_0" of each verdict and "env.lint ..." of each
  // lint, and every other warning.
  std::vector<std::string> said(std::size_t index) const;

 private:
  void judge(const std::vector<std::string>& modes);

  ScratchDir scratch_;
  std::unique_ptr<emulated::Fabric> fabric_;
  std::unique_ptr<driver::Job> job_;
  std::vector<JudgedRank> judged_;
};

}  // namespace nnd::integration

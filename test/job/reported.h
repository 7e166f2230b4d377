// A real NCCL job on the emulated fabric, and the report over what it left.
#pragma once

#include <signal.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/fabric.h"
#include "report/report.h"
#include "support/catch.h"

namespace nnd::test {

// On two nodes, as long as it lasts what they leave. `scenario`: TOML.
class ReportedJob {
 public:
  ReportedJob(const std::string& scenario, int gpus_per_node)
      : job_(gpus_per_node, 2, scenario_.file("scenario.toml", scenario)) {
    using What = softcuda::Action::Kind;
    job_.spec.environment.erase("NCCL_NET_DIAG_BLACKBOX");
    job_.spec.environment["NCCL_IB_TIMEOUT"] = "12";
    job_.spec.environment["NCCL_IB_RETRY_CNT"] = "2";
    job_.spec.environment["NCCL_IB_MQP_RETRY_CNT"] = "1";
    job_.spec.actions = {{.kind = What::kCreate},
                         {.kind = What::kCollective, .bytes = 4000000, .iterations = 6},
                         {.kind = What::kDestroy}};
  }

  FabricJob& job() { return job_; }
  softcuda::JobSpec& spec() { return job_.spec; }
  const softcuda::JobSpec& spec() const { return job_.spec; }

  const report::Report& read(std::optional<int> ranks = {}) {
    input_ = report::read_input(report::files_of({job_.dir().string()}));
    report_ = report::analyse(input_, ranks);
    return report_;
  }
  // While it hangs, before somebody ends it: as soon as that is so.
  const report::Report& read_hanging(const std::function<bool()>& hangs) {
    bool judged = false;
    job_.run([&] {
      if (!hangs()) return false;
      read();
      return judged = true;
    });
    REQUIRE(judged);
    return report_;
  }
  // Stops a rank as soon as that is so, and reads until it is seen that it does not run.
  const report::Report& read_stopped(int rank, const std::function<bool()>& when) {
    pid_t stopped = 0;
    bool judged = false;
    job_.run([&] {
      if (stopped == 0 && when()) kill(stopped = pid_of(rank), SIGSTOP);
      if (stopped == 0) return false;
      const auto& sinks = read().waits.sinks;
      judged = !sinks.empty() && sinks[0].kind == report::Sink::Kind::kStopped;
      if (judged) kill(stopped, SIGCONT);
      return judged;
    });
    if (stopped != 0 && !judged) kill(stopped, SIGCONT);
    REQUIRE(judged);
    return report_;
  }
  pid_t pid_of(int rank) const {
    const auto load = job_.events(rank, "plugin.load");
    return load.empty() ? 0 : load.front().at("pid").get<pid_t>();
  }
  bool told(int rank, const std::string& kind) const {
    const auto stalls = job_.events(rank, "conn.stall");
    return std::any_of(stalls.begin(), stalls.end(),
                       [&](const auto& event) { return event["kind"] == kind; });
  }

 private:
  TempDir scenario_;
  FabricJob job_;
  report::Input input_;
  report::Report report_;
};

inline std::vector<int> ranks_of(const report::Report& report,
                                 const std::vector<std::size_t>& members) {
  std::vector<int> out;
  for (const auto member : members) out.push_back(report.picture.members[member].rank.value_or(-1));
  return out;
}

}  // namespace nnd::test

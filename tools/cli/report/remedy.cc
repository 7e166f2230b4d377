#include <fmt/format.h>

#include "cli/report/difference_text.h"
#include "cli/report/kernel_text.h"
#include "cli/report/sink_text.h"
#include "cli/report/verdict.h"
#include "diagnosis/catalogue.h"

namespace nnd::cli {

using report::Kind;
using report::Report;
using report::Sink;

namespace {

constexpr const char* kLookAtItsEnd =
    "Look at what that process printed last, at its node's kernel log (OOM, Xid) and at the "
    "scheduler's.";
constexpr const char* kItLeft = "Look at what that process printed last: its program ended.";

// By whom all wait for in the end.
std::string hang_remedy(const Report& report) {
  const auto& sinks = report.waits.sinks;
  const Sink* const sink = sinks.empty() ? nullptr : &sinks.front();
  const bool one = sink != nullptr && sink->members.size() == 1;
  if (one && sink->kind == Sink::Kind::kDied) return kLookAtItsEnd;
  if (one && sink->kind == Sink::Kind::kLeft) return kItLeft;
  if (one && sink->kind == Sink::Kind::kStopped)
    return "Look at that process on its node, where both still live: State in /proc/PID/status (T: "
           "kill -CONT PID; D: dmesg); else at the node's kernel log and at the scheduler's.";
  if (sink != nullptr && sink->kind == Sink::Kind::kMismatched)
    return "Let all ranks of a communicator (process group) call the same collectives in the same "
           "order: look at where that differs.";
  if (sink != nullptr && are_in_several_communicators(report, *sink))
    return "Let all ranks call the collectives of their communicators (process groups) in the same "
           "order: look at where those processes are.";
  return one ? "Look at what that process does, and at which collective it is in."
             : "Look at what those processes do, and at which collective each is in.";
}

}  // namespace

std::string remedy(const Report& report) {
  if (report.difference) return difference_remedy(report, *report.difference);
  if (report.rails)
    return fmt::format(
        "Find the node that has {} and compare its addresses with those of the others: HCAs of one "
        "name have to be in one network, and here {} is in {}. Collect that node's log too.",
        report.rails->address, report.first.roots.front().here.dev,
        report.first.roots.front().here.subnet);
  // Who waits for what is lost sees nothing of the network that loses it.
  if (report.kind == Kind::kHang && !report.waits.network.empty() &&
      report.waits.network.front().lost && sign_of_culprit(report) == nullptr)
    return "What one end sends does not reach the other: look at the counters of both ports and of "
           "the switch's, and try the path with nccl-net-diag ping.";
  if (report.crosses_rails)
    return "The nodes' HCAs are alike: NCCL connects across rails that don't reach each other. Set "
           "NCCL_CROSS_NIC=0, with as many ranks on each node, or route between the rails' "
           "subnets.";
  const auto* told = first_told(report);
  if (told != nullptr && report.kind != Kind::kMissing) return told->fix;
  switch (report.kind) {
    case Kind::kLost:
      if (report.ended_by_kernel)
        return kernel_end_remedy(*report.kernel[*report.ended_by_kernel].told);
      if (report.own_words) return std::string(diagnosis::explain(report.own_words->cause).remedy);
      return report.first.losses[0].clean ? kItLeft : kLookAtItsEnd;
    case Kind::kMissing:
      if (report.missing.is_counted_unlike())
        return "Start all nodes with the same number of nodes and of ranks (WORLD_SIZE, --nnodes, "
               "--nproc-per-node).";
      return "Look at what the launcher says of them, and whether NCCL_NET_PLUGIN=diag and "
             "LD_LIBRARY_PATH reach them.";
    case Kind::kHealthy:
      if (!report.mismatched.empty())
        return "Let all ranks give each collective the same count and datatype: NCCL doesn't "
               "compare them.";
      return report.slower_link ? "Look at the cable, the switch port and the PCIe slot there: the "
                                  "slowest link sets the pace of all."
                                : "";
    case Kind::kEnded:
      return "Look at who ended it: a time limit, a user, or the launcher, which tells whether a "
             "process died first.";
    case Kind::kHang:
      return hang_remedy(report);
    case Kind::kSlow:
      return "Compare its link, its counters, its PCIe slot and its switch port with its "
             "siblings'.";
    default:
      return {};
  }
}

}  // namespace nnd::cli

#include "session/loaded.h"

#include <cstdlib>
#include <mutex>
#include <string>

#include "config/launchers.h"
#include "context/fork_mutex.h"
#include "diagnosis/own.h"
#include "inner/nccl.h"
#include "nccl_abi/releases.h"
#include "record/event.h"
#include "record/recorder.h"
#include "session/complaints.h"
#include "session/profilers.h"

namespace nnd::session {

using record::Event;
using record::EventId;
using record::Severity;

namespace {

void add_launch(Event& e) {
  const config::Launch launch = config::read_launch();
  e.object("launch");
  if (!launch.launcher.empty()) e.add("launcher", launch.launcher);
  if (launch.rank) e.add("rank", *launch.rank);
  if (launch.local_rank) e.add("local_rank", *launch.local_rank);
  if (launch.ranks) e.add("world_size", *launch.ranks);
  if (!launch.job.empty()) e.add("job", launch.job);
  if (!launch.run.empty()) e.add("run", launch.run);
  if (launch.requeues) e.add("requeues", *launch.requeues);
  if (launch.restarts) e.add("restarts", *launch.restarts);
  e.end();
}

bool forgets_plugin(int nccl_version) {
  if (!nccl_abi::kForgetsPlugin.has(nccl_version)) return false;
  const char* const count = std::getenv("NCCL_NET_PLUGIN_REF_COUNT");
  return count == nullptr || std::atoi(count) < 1;
}

// The line that NCCL's logger gets after the transport's init; empty: said already.
context::ForkMutex line_lock;
std::string line;  // under line_lock

}  // namespace

void tell_loaded(const inner::Found& found, int api, const OtherLayers& others,
                 const config::Settings& settings) {
  const bool wraps = found.vtable != nullptr;
  const bool forgets = wraps && forgets_plugin(found.nccl_version);
  const std::string nccl = inner::version_text(found.nccl_version);

  Event e(EventId::kPluginLoad, wraps && !forgets ? Severity::kInfo : Severity::kWarn);
  e.add("version", NND_VERSION).add("net_api", api);
  if (found.nccl_version != 0) e.add("nccl_version", nccl);
  add_launch(e);
  e.add("log", record::log_place());
  if (wraps)
    e.object("inner")
        .add("name", found.name)
        .add("method", inner::to_string(found.method))
        .add("module", found.module)
        .end();
  e.array("layers");
  if (wraps) e.push("net");
  if (others.verbs_problem.empty()) e.push("verbs");
  if (wraps && others.profiler) e.push("profiler");
  e.end();
  e.array("limits");
  if (!others.verbs_problem.empty()) e.push("verbs: " + others.verbs_problem);
  if (nccl_abi::kLosesRma.has(found.nccl_version))
    e.push("RMA: NCCL " + nccl + " has none with a net plugin");
  if (wraps && !others.profiler && lacks_profiler(settings, found.nccl_version))
    e.push(
        "profiler: NCCL " + nccl +
        " comes to it with NCCL_PROFILER_PLUGIN=libnccl-net-diag.so; without it connections have "
        "no rank, peer and channel");
  e.end();
  if (!wraps)
    e.diagnose(diagnose(diagnosis::NotWrapped{found.why}));
  else if (forgets)
    e.diagnose(diagnose(diagnosis::ForgetsPlugin{nccl}));
  e.emit();
  for (const config::Complaint& complaint : settings.complaints) tell_complaint(complaint);
  if (!wraps) return;
  const std::lock_guard guard(line_lock);
  line = std::string(NND_VERSION) + " wraps " + found.name + " of " + found.module + " (net v" +
         std::to_string(api) + ", found by " + inner::to_string(found.method) + ")";
}

void tell_hcas_found(const std::string& hcas) {
  const std::lock_guard guard(line_lock);
  if (line.empty()) return;
  record::nccl_info(line + (hcas.empty() ? "" : "; " + hcas) + "; " + record::log_place());
  line.clear();
}

}  // namespace nnd::session

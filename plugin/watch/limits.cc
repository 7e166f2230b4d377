#include "watch/limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "diagnosis/limit.h"
#include "facts/node.h"
#include "record/event.h"
#include "record/fields.h"
#include "state/qp_table.h"

namespace nnd::watch {

namespace {

using record::Event;
using record::EventId;
using record::Severity;

// The kernel gives the lowest number that is free: as many files are open, and perhaps some more.
std::uint64_t open_files(std::uint64_t limit) {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == EMFILE ? limit : 0;
  ::close(fd);
  return static_cast<std::uint64_t>(fd);
}

}  // namespace

void Limits::look() {
  look_at_files();
  look_at_qps();
}

void Limits::look_at_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const diagnosis::OpenFiles seen{open_files(limit.rlim_cur), limit.rlim_cur};
  if (!diagnosis::nearly_all(seen.open, seen.limit)) files_told_ = 0;
  const unsigned due = !diagnosis::nearly_all(seen.open, seen.limit) ? 0
                       : seen.open < seen.limit                      ? 1
                                                                     : 2;
  if (due <= files_told_) return;
  files_told_ = due;
  const diagnosis::Diagnosis out = diagnose(seen);
  Event e(EventId::kPolicyWarn, Severity::kWarn);
  e.add("rule", "limits.nofile").add("fact", out.sentence).array("remaining").end();
  e.diagnose(out).emit();
}

void Limits::look_at_qps() {
  const std::size_t now = state::qp_table().size();
  if (now <= qps_) return;
  qps_ = now;
  for (const auto& [device, used] : state::qp_table().count_by_device()) {
    const facts::Hca* const hca = facts::current_node().find(device);
    if (hca == nullptr || hca->max_qp <= 0) continue;
    const diagnosis::QpsInUse seen{device, used, static_cast<std::uint64_t>(hca->max_qp)};
    if (!diagnosis::nearly_all(seen.used, seen.limit) || !told_.insert(device).second) continue;
    Event e(EventId::kPortEvent, Severity::kWarn);
    add_device(e, {.name = device});
    e.add("event", "qps").diagnose(diagnose(seen)).emit();
  }
}

void Limits::forget() {
  files_told_ = 0;
  qps_ = 0;
  told_.clear();
}

}  // namespace nnd::watch

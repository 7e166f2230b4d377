#include "cli/common/job_progress.h"

#include <fmt/format.h>

#include "cli/common/interrupt.h"
#include "cli/common/output.h"

namespace nnd::cli {

JobProgress::JobProgress(const Calling& calling, double deadline_sec)
    : quiet_(calling.quiet), deadline_sec_(deadline_sec) {}

double JobProgress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string JobProgress::interrupted() const {
  return fmt::format("interrupted after {:.1f} s; what was seen until then follows.", seconds());
}

void JobProgress::show(const nlohmann::json& event) const {
  if (quiet_ || event.at("rank") != 0) return;
  const std::string what = event.at("event");
  if (what == "created")
    print_err(
        fmt::format("rank 0: communicator ready after {:.0f} ms\n", event.at("ms").get<double>()));
  else if (what == "collective")
    print_err(fmt::format("rank 0: {} of {} bytes, {} times: data right, {:.1f} ms\n",
                          event.at("collective").get<std::string>(), event.at("bytes").dump(),
                          event.at("iterations").dump(), event.at("ms").get<double>()));
}

bool JobProgress::stop() {
  constexpr int kEverySec = 5;
  const int due = static_cast<int>(seconds()) / kEverySec;
  if (due > told_ && !quiet_)
    print_err(fmt::format("running for {} s, {:g} s at most\n", due * kEverySec, deadline_sec_));
  told_ = due;
  return InterruptGuard::interrupted();
}

}  // namespace nnd::cli

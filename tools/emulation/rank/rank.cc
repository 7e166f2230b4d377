#include "rank/rank.h"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "driver/error.h"
#include "driver/server.h"
#include "softverbs/hostview.h"

namespace nnd::driver {

namespace {

// Many libraries abort without a word, and in an emulated machine nobody has a debugger.
void tell_where(int) {
  std::array<void*, 64> frames{};
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), STDERR_FILENO);
}

}  // namespace

int be_rank(MoreRequests more) {
  std::array<void*, 1> first{};
  backtrace(first.data(), 1);  // loads what it needs before it is needed
  std::signal(SIGABRT, tell_where);
  const char* const sysfs = std::getenv("NND_RANK_SYSFS");
  const auto show_sysfs = [sysfs](void* libnccl) {
    const auto problem = softverbs::show_host(libnccl, sysfs);
    if (!problem.empty()) throw Error("cannot show libnccl another /sys: " + problem);
  };
  wire::JsonSocket socket(3);
  return serve(socket, sysfs != nullptr ? show_sysfs : std::function<void(void*)>(),
               std::move(more));
}

}  // namespace nnd::driver

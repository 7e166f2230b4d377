// nnd-rank: one rank of a job that the driver runs. Started by it, with its socket as
// descriptor 3. NND_RANK_SYSFS names the directory that libnccl is to take for /sys.
#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "driver/error.h"
#include "driver/server.h"
#include "softverbs/hostview.h"

namespace {

// Many libraries abort without a word, and in an emulated machine nobody has a debugger.
void tell_where(int) {
  std::array<void*, 64> frames{};
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), STDERR_FILENO);
}

}  // namespace

int main() {
  std::array<void*, 1> first{};
  backtrace(first.data(), 1);  // loads what it needs before it is needed
  std::signal(SIGABRT, tell_where);
  const char* const sysfs = std::getenv("NND_RANK_SYSFS");
  const auto show_sysfs = [sysfs](void* libnccl) {
    const auto problem = softverbs::show_host(libnccl, sysfs);
    if (!problem.empty()) throw nnd::driver::Error("cannot show libnccl another /sys: " + problem);
  };
  nnd::wire::JsonSocket socket(3);
  return nnd::driver::serve(socket, sysfs != nullptr ? show_sysfs : std::function<void(void*)>());
}

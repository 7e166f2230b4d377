#include "give_way.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "memory.h"
#include "softverbs/imports.h"

namespace softcuda {
namespace {

constexpr int kYields = 16;  // before the first sleep
constexpr long kFirstNs = 5000;

// How many threads that spin there are for each core, by the environment; 0: we don't give way.
int crowd() {
  static const int threads = [] {
    const char* value = std::getenv("SOFTCUDA_GIVE_WAY");
    return value == nullptr ? 0 : std::max(std::atoi(value), 0);
  }();
  return threads;
}

// After so many in vain: up to 80 us soon, and then by an eighth more each time, so that a wait
// gets longer by a part of itself. Where many wait they look less often: with a thousand of them
// nobody else would run.
long sleep_ns(int sleeps) {
  constexpr int kDoublings = 4, kLooksAtEach = 2, kSoon = kDoublings * kLooksAtEach, kEndless = 100;
  constexpr double kGrowth = 1.125;
  constexpr long kMostNs = 1000000, kMostNsByCrowd = 50000;
  const long soon = kFirstNs << std::min(sleeps / kLooksAtEach, kDoublings);
  if (sleeps <= kSoon) return soon;
  const double later =
      static_cast<double>(soon) * std::pow(kGrowth, std::min(sleeps - kSoon, kEndless));
  return std::min(static_cast<long>(later), std::max(kMostNs, kMostNsByCrowd * crowd()));
}

// Looks in vain of this thread, by what it looks at.
thread_local int receives = 0, accepts = 0, idle_rounds = 0;

template <typename Result>
Result counted(Result result, int& looks) {
  if (result >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
    looks = 0;
    return result;
  }
  const int error = errno;
  pause_after(++looks);
  errno = error;
  return result;
}

ssize_t own_recv(int socket, void* to, std::size_t bytes, int flags) {
  return counted(::recv(socket, to, bytes, flags), receives);
}
ssize_t own_recv_chk(int socket, void* to, std::size_t bytes, std::size_t /*room*/, int flags) {
  return own_recv(socket, to, bytes, flags);
}
int own_accept(int socket, sockaddr* address, socklen_t* bytes) {
  return counted(::accept(socket, address, bytes), accepts);
}

// How often the kernels of this process have got on.
std::atomic<unsigned> steps{0};

// A proxy thread yields when nothing moved. What it did in between isn't seen here but by what the
// kernels got from it or gave it, so its sleeps stay short for a while.
int own_sched_yield() {
  thread_local unsigned seen = 0;
  constexpr int kShort = kYields + 2, kPatience = 200;
  if (const unsigned now = steps.load(std::memory_order_relaxed); now != seen) {
    seen = now;
    idle_rounds = 0;
  }
  ++idle_rounds;
  pause_after(idle_rounds < kPatience ? std::min(idle_rounds, kShort) : idle_rounds - kPatience);
  return 0;
}

// NCCL's host buffers come zeroed from cudaHostAlloc, are zeroed again, and mostly never used.
void* own_memset(void* to, int value, std::size_t bytes) {
  constexpr std::size_t kLarge = 1 << 16;
  if (value != 0 || bytes < kLarge) return std::memset(to, value, bytes);
  zero(to, bytes);
  return to;
}

}  // namespace

bool gives_way() { return crowd() > 0; }

void pause_after(int looks) {
  constexpr int kPatientYields = 64;
  const int yields = gives_way() ? kYields : kPatientYields;
  if (looks <= yields) {
    ::sched_yield();
    return;
  }
  const timespec pause{0, gives_way() ? sleep_ns(looks - yields) : kFirstNs};
  ::nanosleep(&pause, nullptr);
}

void got_on() { steps.fetch_add(1, std::memory_order_relaxed); }

std::string give_way(void* handle) {
  if (!gives_way()) return {};
  ::prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; inherited by NCCL's threads
  static const softverbs::Import kImports[] = {
      softverbs::redirected("recv", own_recv), softverbs::redirected("__recv_chk", own_recv_chk),
      softverbs::redirected("accept", own_accept),
      softverbs::redirected("sched_yield", own_sched_yield),
      softverbs::redirected("memset", own_memset)};
  return softverbs::redirect_imports(handle, kImports, std::size(kImports));
}

}  // namespace softcuda

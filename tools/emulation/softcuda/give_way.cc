#include "give_way.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "memory.h"
#include "softverbs/imports.h"

namespace softcuda {
namespace {

constexpr int kYields = 16;  // before the first sleep

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

// A proxy thread yields when nothing moved. What it did in between isn't seen here, so its sleeps
// stay short.
int own_sched_yield() {
  constexpr int kShort = kYields + 2;
  idle_rounds = std::min(idle_rounds + 1, kShort);
  pause_after(idle_rounds);
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

bool gives_way() {
  static const bool wanted = [] {
    const char* value = std::getenv("SOFTCUDA_GIVE_WAY");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return wanted;
}

void pause_after(int looks) {
  constexpr int kPatientYields = 64;
  const int yields = gives_way() ? kYields : kPatientYields;
  if (looks <= yields) {
    ::sched_yield();
    return;
  }
  constexpr long kFirstNs = 5000;
  constexpr int kDoublings = 4;  // to 80 us
  const int doublings = gives_way() ? std::min((looks - yields) / 2, kDoublings) : 0;
  const timespec pause{0, kFirstNs << doublings};
  ::nanosleep(&pause, nullptr);
}

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

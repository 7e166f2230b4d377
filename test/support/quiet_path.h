// Shows that code takes no lock and makes no system call. Include it in one source file of a
// program: it stands in for pthread_mutex_lock there. The sanitizers make calls of their own:
// NND_QUIET_PATH is defined where it can be shown.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NND_SANITIZED_PATH 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define NND_SANITIZED_PATH 1
#endif
#endif
#ifndef NND_SANITIZED_PATH
#define NND_QUIET_PATH 1

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <string>

namespace nnd::test {

inline thread_local std::size_t locks_taken = 0;

// From now on every system call but the process's end kills it. False: not possible here.
inline bool forbid_system_calls() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{sizeof code / sizeof code[0], code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Runs `path` twice in a child, the second time watched: "quiet", "lock", "system call", "failed"
// (it returned false), or "not possible" where system calls can't be forbidden.
template <class Path>
std::string watched(Path&& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    if (!path()) ::_exit(2);  // what is done at the first call only is no part of it
    locks_taken = 0;
    if (!forbid_system_calls()) ::_exit(3);
    if (!path()) ::_exit(2);
    ::_exit(locks_taken == 0 ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return "failed";
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGSYS ? "system call" : "failed";
  constexpr const char* kOutcomes[] = {"quiet", "lock", "failed", "not possible"};
  return kOutcomes[WEXITSTATUS(status) & 3];
}

}  // namespace nnd::test

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static constinit Lock real = nullptr;
  if (real == nullptr) real = reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++nnd::test::locks_taken;
  return real(mutex);
}

#endif  // NND_SANITIZED_PATH

// A child of a process whose other threads go on: it has one thread, and must get through.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace nnd::test {

// Whether f was true in a forked child. A child that hangs is ended by its alarm.
template <class F>
bool holds_in_child(F&& f) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(f() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace nnd::test

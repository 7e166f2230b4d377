// A file system of a test's own, without privileges: in a user and a mount namespace.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/skip.h"

namespace nnd::test {

// This process is root of namespaces of its own from now on; its threads must not have begun.
// False: not possible here.
inline bool enter_own_mounts() {
  const std::string uid_map = "0 " + std::to_string(::geteuid()) + " 1";
  const std::string gid_map = "0 " + std::to_string(::getegid()) + " 1";
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << uid_map;
  std::ofstream("/proc/self/gid_map") << gid_map;
  return true;
}

// A tmpfs of that size ("10m") on the directory.
inline bool mount_tmpfs(const std::string& path, const std::string& size) {
  return ::mount("tmpfs", path.c_str(), "tmpfs", 0, ("mode=0700,size=" + size).c_str()) == 0;
}

// Runs the body in a child with mounts of its own; it must not throw. False: no such mounts here.
template <class Body>
bool in_own_mounts(Body&& body) {
  constexpr int kNoMounts = 77;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!enter_own_mounts()) ::_exit(kNoMounts);
    try {
      body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMounts) {
    skipped("no user and mount namespaces here");
    return false;
  }
  CHECK(status == 0);
  return true;
}

}  // namespace nnd::test

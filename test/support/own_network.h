// Network namespaces of a test's own, as hosts that are joined by a cable: packets of these never
// leave the machine.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

namespace nnd::test {

// Two hosts, each with an eth0 at the other's end; interfaces are up and have no address.
class TwoHosts {
 public:
  TwoHosts() {
    for (pid_t& holder : holders_) holder = hold();
    there_ = holders_[0] > 0 && holders_[1] > 0 &&
             run("ip link add eth0 netns " + std::to_string(holders_[0]) +
                 " type veth peer name eth0 netns " + std::to_string(holders_[1]));
    for (const int host : {0, 1})
      there_ = there_ && on(host, "ip link set lo up") && on(host, "ip link set eth0 up");
  }
  ~TwoHosts() {
    for (const pid_t holder : holders_) {
      if (holder <= 0) continue;
      ::kill(holder, SIGKILL);
      ::waitpid(holder, nullptr, 0);
    }
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  bool there() const { return there_; }
  std::string file(int host) const {
    return "/proc/" + std::to_string(holders_[static_cast<std::size_t>(host)]) + "/ns/net";
  }
  // A command there; false: it failed.
  bool on(int host, const std::string& command) const {
    const pid_t child = ::fork();
    if (child == 0) {
      enter(file(host));
      ::_exit(run(command) ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0;
  }

  // This thread's sockets are of that namespace from now on; ends the process where they can't be.
  static void enter(const std::string& file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0) ::_exit(126);
    ::close(fd);
  }

 private:
  static bool run(const std::string& command) {
    return std::system((command + " 2>/dev/null").c_str()) == 0;
  }
  // A process that has a namespace and does nothing; -1: there is none to be had.
  static pid_t hold() {
    std::array<int, 2> ready{-1, -1};
    if (::pipe2(ready.data(), O_CLOEXEC) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::unshare(CLONE_NEWNET) != 0) ::_exit(1);
      [[maybe_unused]] const ssize_t told = ::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    const bool made = child > 0 && ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    if (made || child <= 0) return child;
    ::waitpid(child, nullptr, 0);
    return -1;
  }

  std::array<pid_t, 2> holders_{-1, -1};
  bool there_ = false;
};

}  // namespace nnd::test

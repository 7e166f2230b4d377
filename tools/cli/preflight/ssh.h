// This program as a task on other hosts, by ssh.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nnd::cli {

// A script for sh: sets the variables and becomes the program. It holds a secret, so that it goes
// to ssh's standard input and is on no command line. All values are quoted.
std::string script_of(const std::map<std::string, std::string>& variables,
                      const std::vector<std::string>& program);

// Of this process's environment what a job's processes get: NCCL's and the plugin's settings, and
// where libraries are; nothing that is this host's own, and no secret.
std::map<std::string, std::string> variables_for_others();

// ssh to one host, in a session of its own: a terminal's Ctrl-C reaches the caller alone. Ended
// when the caller is.
class Ssh {
 public:
  static constexpr int kOwnFailure = 255;  // an exit code; others are the program's

  // Throws CallError where no process can be started.
  Ssh(std::string host, const std::string& script);
  ~Ssh();
  Ssh(Ssh&& other) noexcept;
  Ssh& operator=(Ssh&&) = delete;

  const std::string& host() const { return host_; }
  // Hears what it says, without waiting; true: it has ended.
  bool ended();
  void end() const;                             // asks it to
  int exit_code() const { return exit_code_; }  // once it has ended
  std::string last_words() const;               // its last line, for a terminal

 private:
  void hear();

  std::string host_, said_;
  pid_t pid_ = -1;
  int output_ = -1;
  int exit_code_ = -1;
};

// Gives them that time to end by themselves, then ends them.
void end_all(std::vector<Ssh>& all, std::chrono::milliseconds patience);

}  // namespace nnd::cli

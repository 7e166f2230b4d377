// A program of the user's, once on each node that this machine plays.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "softcuda/job_environment.h"

namespace nnd::cli {

struct ProgramEnd {
  std::optional<int> exit_code, signal;  // one of them, when it has ended
  bool by_us = false;                    // it was still running, and was told to end

  bool well() const { return exit_code == 0; }
};

struct Programs {
  std::vector<std::string> command;
  std::vector<softcuda::Variables> nodes;  // the environment of each
  bool output_to_stderr = false;           // what they print on stdout
  std::optional<double> deadline_sec;
  std::function<bool()> stop;  // asked several times a second
};

struct ProgramEnds {
  std::vector<ProgramEnd> nodes;
  std::optional<std::size_t> first_failed;  // the first that ended otherwise than with 0, by itself
  bool late = false;                        // at the deadline they were told to end

  // As a shell has it: the program's own, of the one that failed first; 128 and the signal's
  // number. 0: all ended well. Nothing: we ended them.
  std::optional<int> exit_code() const;
};

// Their stdin is empty, their output is ours. Once one has failed the others get some seconds to
// notice; then, as at the deadline, SIGTERM, and SIGKILL for what is left of them long after it. No
// process that they started is left. Throws CallError where the program can't be started.
ProgramEnds run_programs(const Programs& programs);

}  // namespace nnd::cli

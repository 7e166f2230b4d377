// The token by which the processes of one run know each other, from where the user put it or from
// what they share anyway.
#pragma once

#include <functional>
#include <string>

namespace nnd::cli {

using Lookup = std::function<std::string(const char*)>;  // of an environment variable

// given: --token; file: --token-file; else the variable NCCL_NET_DIAG_TOKEN. Empty where there is
// none of them. Throws CallError for two at once, a file that can't be read, and a token that is
// too short to withstand guessing.
std::string find_token(const std::string& given, const std::string& file, const Lookup& variable);

// For a launcher's task whose user gave none: the random key that Open MPI's mpirun gives each of
// its jobs, else the user's own token. That one is in a file that only the user can read, in
// $XDG_CONFIG_HOME or ~/.config, made by the task that comes first: hosts that share the home
// directory share it. Throws CallError where there can be no such file.
std::string job_token(const Lookup& variable);

}  // namespace nnd::cli

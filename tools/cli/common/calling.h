// What every subcommand can be asked alike: how it shows its result.
#pragma once

#include <string>

namespace nnd::cli {

enum class When { kAuto, kAlways, kNever };

struct Calling {
  std::string command;   // "check"
  bool json = false;     // the result as JSON
  bool brief = false;    // the verdict, and one line for each thing that was looked at
  bool verbose = false;  // nothing folded
  bool quiet = false;    // no progress on stderr
  When color = When::kAuto;
};

}  // namespace nnd::cli

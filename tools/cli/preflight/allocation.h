// Whether a job should start on these nodes, and what is wrong with which: from what each node says
// of itself, what only comparison shows, and which of their HCAs talk. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/ping/result.h"
#include "cli/preflight/node.h"

namespace nnd::cli {

enum class Weight {
  kLeaveOut,  // the node is not fit for a job with the others
  kMend,      // no job should start before it is mended, and no node is at fault that can be named
  kNote
};
const char* text_of(Weight weight);  // "leave out", "mend", "note"

struct Finding {
  Weight weight = Weight::kNote;
  std::vector<std::string> hosts;  // that it is about; empty: the whole allocation
  std::string device;              // "mlx5_0"; empty: none, or several
  std::string cause;               // the id; empty: none
  std::string text, remedy;        // sentences
};

struct Allocation {
  std::vector<std::string> hosts;        // in natural order
  std::vector<Finding> findings;         // what weighs most first
  std::vector<std::string> leave_out;    // of the hosts
  std::vector<std::string> environment;  // lines for a job's script, the same on all that stay
  std::size_t pairs = 0, talked = 0;     // of HCAs, that were tried
  std::size_t ranks = 0;                 // of a job in which every byte was right; 0: none

  bool go() const;
  void add(Finding finding);  // keeps the order
};

// known: what was found in another way.
Allocation allocation_of(std::vector<Node> nodes, const std::vector<PairResult>& pairs,
                         std::vector<Finding> known = {});

}  // namespace nnd::cli

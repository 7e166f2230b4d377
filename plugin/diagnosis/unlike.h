// In what the two processes at the ends of a connection differ, as they have told each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "diagnosis/root.h"

namespace nnd::diagnosis {

struct UnlikePeers {
  RootProcess here, there;
  struct Item {
    std::string what;               // "NCCL_IB_TC"
    std::string here_is, there_is;  // empty: not to be told
  };
  std::vector<Item> items;
};

// "rank 0 of node0 (pid 811), this process, and rank 1 of node1 (pid 812) differ in NCCL_IB_TC (106
// here, 0 there)"
std::string sentence_of(const UnlikePeers& seen);

// Where they need the same.
Diagnosis diagnose(const UnlikePeers& seen, Cause cause);

}  // namespace nnd::diagnosis

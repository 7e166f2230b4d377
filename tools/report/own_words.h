// What a process was told by NCCL before it ended by itself: of the program, the node or a GPU, in
// which the network has no part.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "nccl_net_diag/causes.h"
#include "report/picture.h"

namespace nnd::report {

struct Report;

struct OwnWords {
  nccl_net_diag::Cause cause{};
  std::string said;                  // NCCL's last warning
  std::vector<std::size_t> members;  // who had it, or, of one GPU, who share it
  std::string gpu;                   // "0000:14:00.0": of members, which share it
};

// Where NCCL refused to make a communicator, or whoever ended by itself had been warned of that.
std::optional<OwnWords> own_words_of(const Report& report);

}  // namespace nnd::report

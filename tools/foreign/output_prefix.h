// What launchers put before a line of a rank's output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nnd::foreign {

// The rank of the job, where the prefix has a mark of it: "[rank3]: ", "[1,3]<stderr>:".
std::optional<int> marked_rank(std::string_view prefix);

struct OutputPrefix {
  std::optional<int> rank;  // of the job, or on its node
  bool on_node = false;     // it is the one on its node
  std::string whose;        // tells the ranks of a job's output apart; empty: it doesn't
};

// prefix: what stands before the text. "[rank3]: " of PyTorch, "[1,3]<stderr>:" of mpirun
// --tag-output, "3: " of srun --label, "[default3]:" of torchrun --tee.
OutputPrefix read_prefix(std::string_view prefix);

}  // namespace nnd::foreign

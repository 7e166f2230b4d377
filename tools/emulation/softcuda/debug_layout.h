// The layout of a libnccl as its own debug information has it.
#pragma once

#include <optional>
#include <string>

#include "layouts.h"

namespace softcuda {

struct DebugLayout {
  std::optional<Layout> layout;  // absent: the library has no debug information, or see error
  std::string error;             // the structures aren't those that softcuda plays
};

// library: a libnccl.so.2 or a file of its symbols; takes about a tenth of a second.
DebugLayout read_debug_layout(const std::string& library, int nccl_version);

}  // namespace softcuda

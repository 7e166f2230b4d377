#include "foreign/fact.h"

#include <array>

namespace nnd::foreign {

const char* name_of(Source source) {
  constexpr std::array kNames{"NCCL's log", "PyTorch's watchdog", "the kernel's log",
                              "PyTorch's error file", "the job's output"};
  return kNames.at(static_cast<std::size_t>(source));
}

}  // namespace nnd::foreign

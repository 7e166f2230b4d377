// The data that a job's ranks send, and what must arrive. Values repeat with a prime period, so
// that data in the wrong place shows, and are small enough for exact sums in every type of 32 bits
// and more; 8-bit sums wrap, here as there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "function.h"

namespace softcuda {

struct Pattern {
  Type type;
  int iteration;

  // Elements [first, first + count) of a rank's data.
  void fill(void* buffer, std::size_t first, std::size_t count, int rank) const;

  // Empty when the buffer holds elements [first, first + count) of that rank, else the first wrong
  // element.
  std::optional<std::string> check(const void* buffer, std::size_t first, std::size_t count,
                                   int rank) const;
  // The same for the reduction over the ranks 0 to nranks - 1.
  std::optional<std::string> check_reduced(const void* buffer, std::size_t first, std::size_t count,
                                           Operation operation, int nranks) const;
};

}  // namespace softcuda

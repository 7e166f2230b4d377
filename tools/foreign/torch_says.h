// Lines in which PyTorch itself names what went wrong, beside tracebacks and timeouts.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "foreign/fact.h"

namespace nnd::foreign {

// Takes a job's output line by line. One thread at a time.
class TorchSays {
 public:
  explicit TorchSays(std::function<void(Fact&&)> sink) : sink_(std::move(sink)) {}

  void take(std::string_view line, std::uint64_t number) const;

 private:
  const std::function<void(Fact&&)> sink_;
};

}  // namespace nnd::foreign

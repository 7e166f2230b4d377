// How PyTorch's ranks fail to find each other at its store over TCP: before NCCL is there, and
// where they wait for each other later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "foreign/fact.h"

namespace nnd::foreign {

// Takes a job's output line by line. One thread at a time.
class Rendezvous {
 public:
  explicit Rendezvous(std::function<void(Fact&&)> sink) : sink_(std::move(sink)) {}

  void take(std::string_view line, std::uint64_t number);

 private:
  std::optional<Fact> of_connect(std::string_view line);
  std::optional<Fact> of_listen(std::string_view line);

  const std::function<void(Fact&&)> sink_;
  // What the last try to connect, and to listen, ended with: "10.0.0.1:29500 (errno: 110 - ...".
  std::string tried_, refused_;
};

}  // namespace nnd::foreign

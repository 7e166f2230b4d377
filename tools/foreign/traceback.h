// Python's tracebacks in a job's output: the exception that each ends with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "foreign/fact.h"

namespace nnd::foreign {

// Takes the output line by line, with the prefixes of launchers. One thread at a time.
class Tracebacks {
 public:
  explicit Tracebacks(std::function<void(Fact&&)> sink) : sink_(std::move(sink)) {}

  // true: the line is an exception, and was told.
  bool take(std::string_view line, std::uint64_t number);

 private:
  struct Open {
    std::size_t prefix = 0;  // how long it is, in front of each of its lines
    bool of_thread = false;  // that ends, and no process
    Fact fact;
  };
  void begin(std::string_view line, std::size_t at);
  bool take_last_line(std::string_view line, std::uint64_t number);

  const std::function<void(Fact&&)> sink_;
  std::map<std::string, Open> open_;  // by whose they are
  bool of_thread_ = false;            // the next one is
};

}  // namespace nnd::foreign

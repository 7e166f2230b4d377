// Every call to the transport and what it returned, so that two runs can be compared. Calls that
// only said "not yet" are counted into the one that ended the wait: how often they happen is
// chance.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nnd::driver {

struct TracedCall {
  std::string object;  // what it was made on: "net", "listen 1", "send 2"
  std::string call;    // the slot's name
  int rc = 0;
  nlohmann::json detail;    // arguments and results that are no addresses
  std::uint64_t polls = 0;  // calls before this one that said "not yet"
};

class Trace {
 public:
  void add(std::string object, std::string call, int rc, nlohmann::json detail = nullptr,
           std::uint64_t polls = 0) {
    calls_.push_back({std::move(object), std::move(call), rc, std::move(detail), polls});
  }
  nlohmann::json to_json() const;

 private:
  std::vector<TracedCall> calls_;
};

}  // namespace nnd::driver

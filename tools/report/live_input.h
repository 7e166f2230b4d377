// The logs and boxes of a job that runs: what has come since the last look is read, and no more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/input.h"

namespace nnd::report {

class LiveInput {
 public:
  // Whether there is anything new. Logs that grow are read on, new ones from their beginning. Where
  // a file shrank, was replaced or is gone, all is read again: what it had told may be wrong now.
  bool look(const std::vector<std::string>& files, const Reading& reading);
  const Input& input() const { return input_; }

 private:
  struct Found {
    std::string name;
    std::uint64_t size = 0;
    std::int64_t changed_ns = 0;
  };
  using Id = std::pair<std::uint64_t, std::uint64_t>;  // a file keeps it when it is renamed

  struct Known {
    Found found;
    std::uint64_t place = 0;
    bool compressed = false, box = false, living = false;
  };

  static std::map<Id, Found> found_in(const std::vector<std::string>& files);
  bool still_there(const std::map<Id, Found>& found) const;
  void read_all(const std::map<Id, Found>& found, const Reading& reading);
  bool read_on(const Id& id, const Found& found);
  bool read_box(Known& known);

  std::map<Id, Known> known_;
  Input input_;
  log::LineParser parser_;
  bool began_ = false;
};

}  // namespace nnd::report

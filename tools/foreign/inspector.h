// What NCCL's Inspector writes in its JSON mode: a line for each collective that is over.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "log/event.h"

namespace nnd::foreign {

// Of one rank, collectives of one function and size.
struct Inspected {
  std::string comm, name;  // "0x1f"; what the program calls it: empty: not told
  int rank = -1, nranks = 0;
  std::string collective;         // "AllReduce"
  std::uint64_t least_bytes = 0;  // of a call's count argument, and less than twice that
  log::Busy busy;                 // by the time that Inspector tells, in us there
};

// By the begin of a file.
bool may_be_inspector(std::string_view begin);

// Sums up the lines of one file. Takes up to 65,536 kinds of calls, and leaves the rest out.
class Inspector {
 public:
  Inspector();
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  // false: it tells of no collective, or of one more than there is room for.
  bool take(std::string_view line);
  std::vector<Inspected> take_all();

 private:
  struct Parser;
  struct Header {
    std::string comm, name;
    int rank = -1, nranks = 0;
  };
  using Key = std::tuple<std::string, int, std::string, std::uint64_t>;

  std::unique_ptr<Parser> parser_;
  Header header_;  // the last one: from format 4.3 on not every line has its own
  std::map<Key, Inspected> all_;
};

}  // namespace nnd::foreign

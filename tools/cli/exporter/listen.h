// Where `--listen` serves.
#pragma once

#include <string>

namespace nnd::cli {

struct Listening {
  int fd = -1;       // does not block
  std::string page;  // "http://127.0.0.1:9988/metrics"
};

// At "[ADDRESS:]PORT"; without an address for this host's own programs only. Throws CallError.
Listening listen_for_scrapes(const std::string& where);

}  // namespace nnd::cli

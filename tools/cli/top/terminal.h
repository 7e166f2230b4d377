// A page that changes in place, on a terminal's other screen.
#pragma once

#include <string>

namespace nnd::cli {

// Standard output's, as long as one lives; the usual screen comes back afterwards.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // In place of what is there; lines beyond the last that fits (0: any) are left out. False: nobody
  // sees it.
  bool show(const std::string& text, std::size_t height);
};

}  // namespace nnd::cli

// A page that changes in place, on a terminal's other screen.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>

namespace nnd::cli {

// Standard output's, as long as one lives; the usual screen comes back afterwards. Keys are read
// one by one where standard input is the same terminal and this program is the one that it listens
// to.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // In place of what is there; lines beyond the last that fits (0: any) are left out, the last is
  // the footer's. False: nobody sees it.
  bool show(const std::string& text, const std::string& footer, std::size_t height);
  bool has_keys() const { return usual_.has_value(); }
  // The next key that is hit, waited for no longer than that; unset: none was.
  std::optional<char> key(std::chrono::milliseconds most) const;

 private:
  std::optional<termios> usual_;  // settings to be put back
};

}  // namespace nnd::cli

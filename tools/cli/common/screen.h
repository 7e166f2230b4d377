// What the result is shown on: its size, and whether it knows colours.
#pragma once

#include <cstddef>
#include <string>

#include "cli/common/calling.h"

namespace nnd::cli {

// Whether standard output is a terminal that obeys escape sequences.
bool on_terminal();

enum class Colour { kPlain = 0, kBold = 1, kRed = 31, kGreen = 32, kYellow = 33 };

class Screen {
 public:
  // A pipe or a file: as wide as needed, no colour.
  Screen() = default;
  // Standard output: COLUMNS and LINES, else the terminal's size; colours on a terminal that has
  // them, unless NO_COLOR is set.
  explicit Screen(const Calling& calling);

  std::size_t width() const { return width_; }    // 0: any
  std::size_t height() const { return height_; }  // likewise
  bool verbose() const { return verbose_; }
  std::string paint(const std::string& text, Colour colour) const;
  // With line breaks, lines behind the first indented by so many spaces. Words are not broken.
  std::string wrap(const std::string& text, std::size_t indent) const;

 private:
  std::size_t width_ = 0, height_ = 0;
  bool coloured_ = false;
  bool verbose_ = false;
};

}  // namespace nnd::cli

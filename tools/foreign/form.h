// A text that a program prints with printf, recognised by its format.
#pragma once

#include <string_view>
#include <vector>

namespace nnd::foreign {

struct Printed {
  bool begins = false;  // as the format does, up to its first conversion
  bool whole = false;   // the text has all that the format has
  // Of the conversions that are there to their end.
  std::vector<std::string_view> values;
};

// None of it: no value and not whole. cut: the text may go on where it ends, so that a value that
// ends there is not known.
Printed read_printed(std::string_view format, std::string_view text, bool cut = false);

}  // namespace nnd::foreign

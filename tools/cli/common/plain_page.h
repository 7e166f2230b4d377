// A page without scripts: what those of `ping` and `preflight` have in common.
#pragma once

#include <string>
#include <string_view>

#include "cli/common/page_origin.h"

namespace nnd::cli {

struct PlainPage {
  std::string_view command;  // "ping"
  std::string_view style;    // what it has besides the common one
  std::string verdict;       // text
  bool fine = true;
};

// From <!DOCTYPE html> to the verdict.
std::string begin_page(const PlainPage& page);
// When and how it was made. `more`: text; empty: no more.
std::string page_about(const PageOrigin& origin, const std::string& more = {});
// A sentence, which is text, that tells of something bad.
std::string bad_line(const std::string& text);
std::string end_page();

}  // namespace nnd::cli

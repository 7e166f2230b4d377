// What a page says of its making.
#pragma once

#include <string>

namespace nnd::cli {

struct PageOrigin {
  std::string command;  // as it was called, without what --token says
  std::string when;     // "2026-03-01 14:02:11 +0100"
};

// The time now, for a page.
std::string now_text();

}  // namespace nnd::cli

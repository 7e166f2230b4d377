// A ping's result as a page that needs no other file.
#pragma once

#include <string>

#include "cli/ping/result.h"

namespace nnd::cli {

// What the page says of its making.
struct PageOrigin {
  std::string command;  // without secrets
  std::string when;     // "2026-03-01 14:02:11 +0100"
};

std::string render_ping_html(const PingResult& result, const PageOrigin& origin);

}  // namespace nnd::cli

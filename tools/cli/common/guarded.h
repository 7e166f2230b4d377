// How a subcommand ends where it cannot do what it was called for.
#pragma once

#include <functional>
#include <string>

namespace nnd::cli {

// The exit code of `body`. An exception of its is told, on stdout as {"ok": false, "error"} where
// `as_json`, else on stderr; CallError has its exit code, any other one is kNotExamined.
int guarded(const std::string& subcommand, bool as_json, const std::function<int()>& body);

}  // namespace nnd::cli

// The token of a ping, from where the user put it.
#pragma once

#include <functional>
#include <string>

namespace nnd::cli {

// given: --token; file: --token-file; else the variable NCCL_NET_DIAG_TOKEN. Empty where there is
// none of them. Throws CallError for two at once, a file that can't be read, and a token that is
// too short to withstand guessing.
std::string find_ping_token(const std::string& given, const std::string& file,
                            const std::function<std::string(const char*)>& variable);

}  // namespace nnd::cli

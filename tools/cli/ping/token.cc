#include "cli/ping/token.h"

#include <fmt/format.h>

#include <fstream>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/ping/seal.h"

namespace nnd::cli {

namespace {

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!in || !std::getline(in, line))
    throw CallError(kWrongCall, "token", fmt::format("no token can be read from {}", file), file);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

}  // namespace

std::string find_ping_token(const std::string& given, const std::string& file,
                            const std::function<std::string(const char*)>& variable) {
  if (!given.empty() && !file.empty())
    throw CallError(kWrongCall, "token", "give either --token or --token-file");
  const auto token = !given.empty()  ? given
                     : !file.empty() ? first_line(file)
                                     : variable("NCCL_NET_DIAG_TOKEN");
  if (!token.empty() && token.size() < kShortestToken)
    throw CallError(
        kWrongCall, "token",
        fmt::format("a token has {} characters at least: it must not be guessed", kShortestToken));
  return token;
}

}  // namespace nnd::cli

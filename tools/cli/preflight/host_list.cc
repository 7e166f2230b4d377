#include "cli/preflight/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/printable.h"
#include "config/text_file.h"

namespace nnd::cli {

namespace {

constexpr const char* kDigits = "0123456789";

bool is_made_of(const std::string& text, const char* signs) {
  return !text.empty() && text.find_first_not_of(signs) == std::string::npos;
}

// Empty: it is none.
std::string host_of(const std::string& word) {
  constexpr const char* kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr const char* kIpv6 = "0123456789abcdefABCDEF:.";
  const bool bracket = word.starts_with('[');
  const auto end = bracket ? word.find(']') : word.find(':');
  const auto name = word.substr(bracket ? 1 : 0, bracket ? end - 1 : end);
  const auto rest = end == std::string::npos ? "" : word.substr(bracket ? end + 1 : end);
  const bool right = is_made_of(name, bracket ? kIpv6 : kName) && name.front() != '-' &&
                     (!bracket || end != std::string::npos) &&
                     (rest.empty() || (rest.front() == ':' && is_made_of(rest.substr(1), kDigits)));
  return right ? name : "";
}

}  // namespace

std::vector<std::string> read_host_list(const std::string& file) {
  constexpr std::size_t kLargest = std::size_t{4} << 20;
  using config::AllowedFileType;
  const auto read =
      config::read_text_file(file, "list of hosts", kLargest, AllowedFileType::kRegularOrPipe);
  if (!read.problem.empty()) throw CallError(kWrongCall, "hosts", file + " " + read.problem, file);
  std::vector<std::string> out;
  std::istringstream in(read.text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    auto host = host_of(word);
    if (host.empty())
      throw CallError(
          kWrongCall, "hosts",
          fmt::format("{}, line {}: \"{}\" is no host's name", file, number, printable(word)),
          file);
    if (std::find(out.begin(), out.end(), host) == out.end()) out.push_back(std::move(host));
  }
  if (out.empty()) throw CallError(kWrongCall, "hosts", "there is no host in " + file, file);
  return out;
}

}  // namespace nnd::cli

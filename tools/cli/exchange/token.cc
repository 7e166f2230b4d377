#include "cli/exchange/token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/exchange/seal.h"
#include "config/text_file.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFewestSigns = 6;
constexpr const char* kAdvice = "give all tasks one token with NCCL_NET_DIAG_TOKEN or --token-file";

std::string without_end(std::string line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\n'))
    line.pop_back();
  return line;
}

std::string first_line(const std::string& file) {
  struct stat about {};
  // Read by others it may be where everybody is one user (a container's secret); changed, never.
  if (stat(file.c_str(), &about) == 0 && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw CallError(kWrongCall, "token",
                    fmt::format("others can change {}: chmod 600 {}", file, file), file);
  constexpr std::size_t kLargest = 64 << 10;
  using config::AllowedFileType;
  const auto read =
      config::read_text_file(file, "token", kLargest, AllowedFileType::kRegularOrPipe);
  if (!read.problem.empty()) throw CallError(kWrongCall, "token", file + " " + read.problem, file);
  if (read.text.empty())
    throw CallError(kWrongCall, "token", fmt::format("there is no token in {}", file), file);
  return without_end(read.text.substr(0, read.text.find('\n')));
}

// "a1b2...-c3d4...", 128 random bits: Open MPI's key of the job.
bool is_job_key(const std::string& text) {
  return text.size() >= 2 * kShortestToken &&
         text.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

[[noreturn]] void no_own_token(const fs::path& file, const std::string& why) {
  throw CallError(
      kWrongCall, "token",
      fmt::format("{} cannot hold this user's token: {}; {}", file.string(), why, kAdvice),
      file.string());
}

// Nothing: there is no such file.
std::optional<std::string> read_own(const fs::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  if (fd < 0) no_own_token(file, std::strerror(errno));
  struct stat about {};
  std::array<char, 256> text{};
  const bool mine = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
                    (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  const ssize_t size = mine ? read(fd, text.data(), text.size()) : 0;
  close(fd);
  if (!mine) no_own_token(file, "others can read or change it");
  auto token = without_end({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  if (token.size() < kShortestToken) no_own_token(file, "what it holds is too short");
  return token;
}

// Whole or not at all, and never in place of another task's.
void make_own(const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  auto temporary = file.string() + ".XXXXXX";
  const int fd = mkstemp(temporary.data());
  if (fd < 0) no_own_token(file, std::strerror(errno));
  const auto text = new_token() + "\n";
  const bool written =
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const bool linked = written && (link(temporary.c_str(), file.c_str()) == 0 || errno == EEXIST);
  const std::string why = std::strerror(errno);
  close(fd);
  unlink(temporary.c_str());
  if (!linked) no_own_token(file, why);
}

std::string own_token(const Lookup& variable) {
  const auto config = variable("XDG_CONFIG_HOME"), home = variable("HOME");
  if (config.empty() && home.empty())
    throw CallError(kWrongCall, "token",
                    fmt::format("the tasks share no secret, and HOME is not set; {}", kAdvice));
  const auto file =
      (config.empty() ? fs::path(home) / ".config" : fs::path(config)) / "nccl-net-diag" / "token";
  // A network file system may go on saying for a while that there is none.
  constexpr int kTries = 50, kPauseMs = 100;
  for (int i = 0; i < kTries; ++i) {
    if (auto token = read_own(file)) return *token;
    make_own(file);
    if (i != 0) poll(nullptr, 0, kPauseMs);
  }
  no_own_token(file, "it is made and not seen");
}

}  // namespace

std::string find_token(const std::string& given, const std::string& file, const Lookup& variable) {
  if (!given.empty() && !file.empty())
    throw CallError(kWrongCall, "token", "give either --token or --token-file");
  const auto token = !given.empty()  ? given
                     : !file.empty() ? first_line(file)
                                     : variable("NCCL_NET_DIAG_TOKEN");
  if (!token.empty() && token.size() < kShortestToken)
    throw CallError(
        kWrongCall, "token",
        fmt::format("a token has {} characters at least: it must not be guessed", kShortestToken));
  if (!token.empty() && std::set<char>(token.begin(), token.end()).size() < kFewestSigns)
    throw CallError(kWrongCall, "token",
                    fmt::format("a token has {} different characters at least: it must not be "
                                "guessed; `openssl rand -hex 16` makes one",
                                kFewestSigns));
  return token;
}

std::string job_token(const Lookup& variable) {
  const auto key = variable("OMPI_MCA_orte_precondition_transports");
  return is_job_key(key) ? key : own_token(variable);
}

}  // namespace nnd::cli

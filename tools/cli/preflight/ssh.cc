#include "cli/preflight/ssh.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/printable.h"

extern char** environ;

namespace nnd::cli {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool is_name(std::string_view text) {
  constexpr std::string_view kSigns =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return text.find_first_not_of(kSigns) == std::string_view::npos;
}

bool is_for_others(std::string_view name) {
  return (name.starts_with("NCCL_") && name != "NCCL_NET_DIAG_TOKEN" && name != "NCCL_HOSTID") ||
         name == "LD_LIBRARY_PATH";
}

// A file in memory that holds the text, to be read from its beginning.
int file_of(const std::string& text) {
  const int fd = memfd_create("script", MFD_CLOEXEC);
  if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(fd, 0, SEEK_SET) != 0)
    throw CallError(kNotExamined, "ssh", std::string("no memory: ") + std::strerror(errno));
  return fd;
}

[[noreturn]] void become_ssh(std::string host, int input, int output, pid_t parent) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(Ssh::kOwnFailure);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::array words{std::string("ssh"),    std::string("-T"),
                   std::string("-a"),     std::string("-x"),
                   std::string("-o"),     std::string("BatchMode=yes"),
                   std::string("-o"),     std::string("ConnectTimeout=20"),
                   std::string("--"),     std::move(host),
                   std::string("/bin/sh")};
  std::array<char*, words.size() + 1> arguments{};
  std::transform(words.begin(), words.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });
  execvp("ssh", arguments.data());
  dprintf(STDERR_FILENO, "ssh can't be started: %s\n", std::strerror(errno));
  _exit(Ssh::kOwnFailure);
}

}  // namespace

std::string script_of(const std::map<std::string, std::string>& variables,
                      const std::vector<std::string>& program) {
  std::string out;
  for (const auto& [name, value] : variables) out += "export " + name + "=" + quoted(value) + "\n";
  out += "exec";
  for (const auto& word : program) out += " " + quoted(word);
  return out + " </dev/null\n";
}

std::map<std::string, std::string> variables_for_others() {
  std::map<std::string, std::string> out;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    const auto name = text.substr(0, text.find('='));
    if (name.size() < text.size() && is_for_others(name) && is_name(name))
      out.emplace(name, text.substr(name.size() + 1));
  }
  return out;
}

Ssh::Ssh(std::string host, const std::string& script) : host_(std::move(host)) {
  const int input = file_of(script);
  std::array<int, 2> output{-1, -1};
  const pid_t parent = getpid();
  const bool piped = pipe2(output.data(), O_CLOEXEC) == 0;
  pid_ = piped ? fork() : -1;
  if (pid_ == 0) become_ssh(host_, input, output[1], parent);
  close(input);
  if (piped) close(output[1]);
  output_ = output[0];
  if (pid_ < 0) {
    if (piped) close(output_);
    throw CallError(kNotExamined, "ssh", "no process can be started for ssh");
  }
  fcntl(output_, F_SETFL, O_NONBLOCK);
}

Ssh::Ssh(Ssh&& other) noexcept
    : host_(std::move(other.host_)),
      said_(std::move(other.said_)),
      pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      exit_code_(other.exit_code_) {}

Ssh::~Ssh() {
  if (output_ >= 0) close(output_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Ssh::hear() {
  constexpr std::size_t kKept = 4096;
  constexpr int kReadsAtOnce = 64;  // a host that talks without end holds nobody up
  std::array<char, kKept> buffer;
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const ssize_t size = read(output_, buffer.data(), buffer.size());
    if (size <= 0) return;
    said_.append(buffer.data(), static_cast<std::size_t>(size));
    if (said_.size() > kKept) said_.erase(0, said_.size() - kKept);
  }
}

bool Ssh::ended() {
  if (pid_ < 0) return true;
  int status = 0;
  const bool gone = waitpid(pid_, &status, WNOHANG) == pid_;
  hear();
  if (!gone) return false;
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : Ssh::kOwnFailure;
  return true;
}

void Ssh::end() const {
  if (pid_ >= 0) kill(pid_, SIGTERM);
}

std::string Ssh::last_words() const {
  constexpr const char* kSpace = " \t\r\n";
  const auto end = said_.find_last_not_of(kSpace);
  if (end == std::string::npos) return "";
  const auto begin = said_.find_last_of("\r\n", end);
  return printable(said_.substr(begin == std::string::npos ? 0 : begin + 1, end - begin));
}

void end_all(std::vector<Ssh>& all, std::chrono::milliseconds patience) {
  constexpr int kTickMs = 20;
  constexpr std::chrono::milliseconds kFarewell{2000};
  const auto wait = [&](std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    const auto over = [](Ssh& one) { return one.ended(); };
    while (!std::all_of(all.begin(), all.end(), over) && std::chrono::steady_clock::now() < until)
      poll(nullptr, 0, kTickMs);
  };
  wait(patience);
  for (const Ssh& one : all) one.end();
  wait(kFarewell);
}

}  // namespace nnd::cli

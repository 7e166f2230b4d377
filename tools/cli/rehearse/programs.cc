#include "cli/rehearse/programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookMs = 50;
constexpr auto kToNotice = std::chrono::seconds(5);
constexpr auto kFarewell = std::chrono::seconds(40);  // torchrun gives its workers 30

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The parent of a process, as its stat file has it behind the name in parentheses.
std::optional<pid_t> parent_of(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(") ");
  constexpr std::size_t kToParent = 4;  // ") S "
  if (name_end == std::string::npos) return std::nullopt;
  return static_cast<pid_t>(std::strtol(text.c_str() + name_end + kToParent, nullptr, 10));
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (parent_of(entry.path()) == getpid())
      children.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return children;
}

class Run {
 public:
  explicit Run(const Programs& programs) : programs_(programs) {
    // What a program leaves behind becomes a child of this process.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Run() { prctl(PR_SET_CHILD_SUBREAPER, 0); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  ProgramEnds run() {
    const auto start = Clock::now();
    ends_.nodes.resize(programs_.nodes.size());
    for (const auto& node : programs_.nodes) pids_.push_back(start_program(node));
    while (!all_ended() && !time_is_up(start) && !programs_.stop()) attend();
    end_all();
    return std::move(ends_);
  }

 private:
  pid_t start_program(const softcuda::Variables& variables) {
    const auto environment = softcuda::lines_of(variables);
    const auto words = pointers_to(programs_.command), lines = pointers_to(environment);
    std::array<int, 2> failed{-1, -1};  // closed by a successful exec, else the errno
    if (pipe2(failed.data(), O_CLOEXEC) != 0) cannot_start(errno);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(127);
      setpgid(0, 0);  // a terminal's Ctrl-C reaches this program alone
      for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
      if (const int none = open("/dev/null", O_RDONLY); none >= 0) dup2(none, STDIN_FILENO);
      if (programs_.output_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
      execvpe(words[0], words.data(), lines.data());
      const int error = errno;
      [[maybe_unused]] const auto told = write(failed[1], &error, sizeof error);
      _exit(127);
    }
    const int fork_error = errno;
    close(failed[1]);
    int error = pid < 0 ? fork_error : 0;
    if (pid > 0 && read(failed[0], &error, sizeof error) == sizeof error) waitpid(pid, nullptr, 0);
    close(failed[0]);
    if (error != 0) cannot_start(error);
    return pid;
  }

  [[noreturn]] void cannot_start(int error) {
    end_all();
    const auto& program = programs_.command.front();
    throw CallError(kWrongCall, "program", fmt::format("{}: {}", program, std::strerror(error)),
                    program);
  }

  bool all_ended() const {
    return std::all_of(pids_.begin(), pids_.end(), [](pid_t pid) { return pid == 0; });
  }

  bool time_is_up(Clock::time_point start) {
    const auto now = Clock::now();
    ends_.late = programs_.deadline_sec &&
                 now - start > std::chrono::duration<double>(*programs_.deadline_sec);
    return ends_.late || (failed_at_ && now > *failed_at_ + kToNotice);
  }

  void attend() {
    poll(nullptr, 0, kLookMs);
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) note(pid, status);
  }

  void note(pid_t pid, int status) {
    const auto at = std::find(pids_.begin(), pids_.end(), pid);
    if (at == pids_.end()) return;  // left behind by a program
    *at = 0;
    const auto node = static_cast<std::size_t>(at - pids_.begin());
    auto& end = ends_.nodes[node];
    if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    if (end.well() || end.by_us || ends_.first_failed) return;
    ends_.first_failed = node;
    failed_at_ = Clock::now();
  }

  // The whole group of a program: a shell doesn't pass a signal on.
  void end_all() {
    for (std::size_t node = 0; node < pids_.size(); ++node)
      if (pids_[node] != 0) {
        ends_.nodes[node].by_us = true;
        kill(-pids_[node], SIGTERM);
      }
    const auto farewell = Clock::now() + kFarewell;
    while (!all_ended() && Clock::now() < farewell) attend();
    // Those that are killed may leave children of their own.
    for (auto left = own_children(); !left.empty(); left = own_children()) {
      for (const pid_t pid : left) kill(pid, SIGKILL);
      attend();
    }
  }

  const Programs& programs_;
  std::vector<pid_t> pids_;  // 0: it has ended
  std::optional<Clock::time_point> failed_at_;
  ProgramEnds ends_;
};

}  // namespace

std::optional<int> ProgramEnds::exit_code() const {
  constexpr int kOfShells = 128;
  if (first_failed) {
    const auto& end = nodes[*first_failed];
    return end.exit_code ? *end.exit_code : kOfShells + end.signal.value_or(0);
  }
  const bool well =
      std::all_of(nodes.begin(), nodes.end(), [](const ProgramEnd& end) { return end.well(); });
  return well ? std::optional(0) : std::nullopt;
}

ProgramEnds run_programs(const Programs& programs) { return Run(programs).run(); }

}  // namespace nnd::cli

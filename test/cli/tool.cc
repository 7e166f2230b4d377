#include "cli/tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace nnd::cli_test {

namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

void redirect(const fs::path& file, int fd) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || dup2(opened, fd) < 0) _exit(126);
}

}  // namespace

Tool::Tool(std::vector<std::string> arguments, const Variables& variables)
    : temporary_(dir_.path() / "tmp") {
  fs::create_directory(temporary_);
  arguments.insert(arguments.begin(), NND_TOOL);
  std::vector<std::string> environment{"TMPDIR=" + temporary_.string()};
  for (const char* kept : {"HOME", "PATH", "XDG_CACHE_HOME", "NND_NCCL_DIR"})
    if (const char* value = std::getenv(kept); value != nullptr && !variables.contains(kept))
      environment.push_back(std::string(kept) + "=" + value);
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  const auto argument_list = pointers(arguments), variable_list = pointers(environment);
  pid_ = fork();
  if (pid_ != 0) return;
  setpgid(0, 0);
  redirect(dir_.path() / "out", STDOUT_FILENO);
  redirect(dir_.path() / "err", STDERR_FILENO);
  execve(NND_TOOL, argument_list.data(), variable_list.data());
  _exit(126);
}

Tool::~Tool() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// As a terminal does it: to all of its processes.
void Tool::interrupt() const { kill(-pid_, SIGINT); }

std::string Tool::said() const { return content(dir_.path() / "out"); }

Outcome Tool::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          content(dir_.path() / "out"), content(dir_.path() / "err")};
}

int Tool::processes() const {
  int found = 0;
  for (const auto& entry : fs::directory_iterator("/proc"))
    if (content(entry.path() / "environ").find(temporary_.string()) != std::string::npos) ++found;
  return found;
}

}  // namespace nnd::cli_test

#include "stage.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace stage {

namespace fs = std::filesystem;

Process::Process(const std::vector<std::string>& command,
                 const softverbs::Environment& environment) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

Process::~Process() {
  kill();
  ::close(to_);
  ::close(from_);
}

void Process::stop() { ::kill(pid_, SIGSTOP); }
void Process::go_on() { ::kill(pid_, SIGCONT); }

void Process::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int Process::wait() {
  int status = -1;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void Process::tell(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("the peer is gone");
}

std::string Process::listen() {
  std::string line;
  char letter = 0;
  while (::read(from_, &letter, 1) == 1 && letter != '\n') line += letter;
  return line;
}

std::string Process::ask(const std::string& line) {
  tell(line);
  return listen();
}

Stage::Stage(const std::string& toml) {
  const fs::path file = directory_.path() / "scenario.toml";
  std::ofstream(file) << toml;
  scenario_ = softverbs::load_scenario(file);
  for (const softverbs::Host& host : scenario_.hosts)
    environments_[host.name] =
        softverbs::materialize(scenario_, host.name, sysfs(host.name), fabric());
}

std::unique_ptr<Process> Stage::run(const std::string& host,
                                    const std::vector<std::string>& command) {
  return std::make_unique<Process>(command, environments_.at(host));
}

std::unique_ptr<Process> Stage::peer(const std::string& host, const std::string& device) {
  return run(host, {NND_SOFTVERBS_PEER, device});
}

std::string connect(Process& a, Process& b, const std::string& extra) {
  const std::string of_a = a.ask("introduce");
  const std::string of_b = b.ask("introduce");
  const std::string answer = a.ask("connect " + of_b + " " + extra);
  return answer != "0" ? answer : b.ask("connect " + of_a + " " + extra);
}

}  // namespace stage

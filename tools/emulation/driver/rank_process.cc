#include "driver/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "driver/error.h"

extern char** environ;

namespace nnd::driver {

using nlohmann::json;

namespace {

constexpr int kRankFd = 3;  // as the rank program expects it

bool is_unset(const std::string& name, const std::vector<std::string>& patterns) {
  for (const auto& pattern : patterns) {
    if (pattern == name) return true;
    if (pattern.ends_with('*') && name.starts_with(pattern.substr(0, pattern.size() - 1)))
      return true;
  }
  return false;
}

std::vector<std::string> environment_of(const RankOptions& options) {
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const auto name = text.substr(0, text.find('='));
    if (!options.environment.contains(name) && !is_unset(name, options.unset)) out.push_back(text);
  }
  for (const auto& [name, value] : options.environment) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become_rank(pid_t parent, int socket, int output, char** argv, char** envp) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  if (socket == kRankFd)
    fcntl(socket, F_SETFD, 0);
  else
    dup2(socket, kRankFd);
  execvpe(argv[0], argv, envp);
  _exit(127);
}

}  // namespace

RankProcess::RankProcess(std::string name, const RankOptions& options) : name_(std::move(name)) {
  auto command = options.command;
  auto environment = environment_of(options);
  const auto argv = pointers(command), envp = pointers(environment);
  const auto [ours, theirs] = wire::socket_pair();
  socket_ = std::make_unique<wire::JsonSocket>(ours);
  int output = -1;
  if (!options.output.empty())
    output = open(options.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0)
    become_rank(parent, theirs, output, const_cast<char**>(argv.data()),
                const_cast<char**>(envp.data()));
  close(theirs);
  if (output >= 0) close(output);
  if (pid_ < 0) throw Error("fork: " + std::string(std::strerror(errno)));
}

RankProcess::~RankProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string RankProcess::what(int id) const {
  const auto asked = asked_.find(id);
  return name_ + " (pid " + std::to_string(pid_) + "), " +
         (asked != asked_.end() ? asked->second : "?");
}

int RankProcess::start(json request) {
  const int id = ++last_id_;
  asked_[id] = request.value("op", "?");
  request["id"] = id;
  socket_->send(request);  // where the rank is gone, wait() says so
  return id;
}

json RankProcess::wait(int id, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!replies_.contains(id)) {
    auto reply = socket_->receive(deadline);
    if (!reply && socket_->closed()) throw Error(what(id) + ": the process is gone");
    if (!reply)
      throw Error(what(id) + ": no answer after " + std::to_string(patience.count()) + " ms");
    const int answered = reply->at("id");
    replies_[answered] = std::move(*reply);
  }
  return take(id);
}

std::optional<json> RankProcess::poll(int id) {
  while (auto reply = socket_->receive()) {
    const int answered = reply->at("id");
    replies_[answered] = std::move(*reply);
  }
  if (replies_.contains(id)) return take(id);
  if (socket_->closed()) throw Error(what(id) + ": the process is gone");
  return std::nullopt;
}

json RankProcess::take(int id) {
  auto reply = std::move(replies_.extract(id).mapped());
  if (reply.contains("error")) throw Error(what(id) + ": " + reply.at("error").get<std::string>());
  asked_.erase(id);
  return reply;
}

json RankProcess::run(json request, std::chrono::milliseconds patience) {
  return wait(start(std::move(request)), patience);
}

void RankProcess::kill(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);
}

int RankProcess::wait_exit(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (pid_ > 0) {
    const pid_t ended = waitpid(pid_, &status_, WNOHANG);
    if (ended == pid_) {
      pid_ = -1;
    } else if (Clock::now() > deadline) {
      throw Error(name_ + " (pid " + std::to_string(pid_) + ") does not end");
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return status_;
}

}  // namespace nnd::driver

#include "softverbs/control.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <system_error>

namespace softverbs {

namespace {

int open_file(const std::filesystem::path& file, int flags) {
  const int fd = ::open(file.c_str(), flags | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), file.string());
  return fd;
}

}  // namespace

std::filesystem::path control_file(const std::filesystem::path& fabric_dir) {
  return fabric_dir / "control";
}

Control::Control(std::filesystem::path fabric_dir) : file_(control_file(fabric_dir)) {
  std::filesystem::create_directories(fabric_dir);
}

void Control::append(const std::string& line) {
  const int fd = open_file(file_, O_WRONLY | O_APPEND);
  const ssize_t written = ::write(fd, line.data(), line.size());
  const int error = errno;
  ::close(fd);
  if (written != static_cast<ssize_t>(line.size()))
    throw std::system_error(error, std::generic_category(), file_.string());
}

void Control::set_link(const std::string& host, const std::string& hca, int port, bool up) {
  append("link " + host + " " + hca + " " + std::to_string(port) + (up ? " 1\n" : " 0\n"));
}

void Control::set_lost(const std::string& host, bool lost) {
  append("lost " + host + " - 0" + (lost ? " 1\n" : " 0\n"));
}

void Control::raise_event(const std::string& host, const std::string& hca, int port, int event) {
  append("event " + host + " " + hca + " " + std::to_string(port) + " " + std::to_string(event) +
         "\n");
}

ControlReader::ControlReader(const std::filesystem::path& fabric_dir)
    : file_(open_file(control_file(fabric_dir), O_RDONLY)) {
  notify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (notify_ >= 0) ::inotify_add_watch(notify_, control_file(fabric_dir).c_str(), IN_MODIFY);
}

ControlReader::~ControlReader() {
  ::close(file_);
  if (notify_ >= 0) ::close(notify_);
}

std::vector<ControlCommand> ControlReader::read_new() {
  char buffer[4096];
  while (notify_ >= 0 && ::read(notify_, buffer, sizeof buffer) > 0) {
  }
  for (ssize_t got = 0; (got = ::read(file_, buffer, sizeof buffer)) > 0;)
    rest_.append(buffer, static_cast<std::size_t>(got));
  std::vector<ControlCommand> commands;
  for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
    std::istringstream line(rest_.substr(0, end));
    rest_.erase(0, end + 1);
    std::string kind;
    ControlCommand command;
    if (!(line >> kind >> command.host >> command.hca >> command.port >> command.value)) continue;
    command.kind = kind == "link"   ? ControlCommand::Kind::kLink
                   : kind == "lost" ? ControlCommand::Kind::kLost
                                    : ControlCommand::Kind::kEvent;
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace softverbs

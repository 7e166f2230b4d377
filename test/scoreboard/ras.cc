#include "scoreboard/ras.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string_view>

namespace nnd::scoreboard {

std::string ras_host() {
  const auto pid = static_cast<unsigned>(getpid());  // has 22 bits at most
  return fmt::format("127.{}.{}.{}", 1 + (pid >> 16), (pid >> 8) & 255, pid & 255);
}

std::string ask_ras(const std::string& host, std::string_view lines,
                    std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + patience;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kRasPort);
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  bool open = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
              send(fd, lines.data(), lines.size(), MSG_NOSIGNAL) > 0;
  std::string answer;
  while (open) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
    pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
    std::array<char, 4096> buffer;
    const bool ready = left > 0 && poll(&polled, 1, static_cast<int>(left)) == 1;
    const ssize_t bytes = ready ? read(fd, buffer.data(), buffer.size()) : 0;
    open = bytes > 0;
    if (open) answer.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  close(fd);
  return answer;
}

// Its last two sections are "Errors" and "Warnings", each underlined; a finding in them is a line
// like "#0-0 (of a communicator) ERROR" or "DEAD", and indented ones.
std::string ras_says(const std::string& answer) {
  const auto errors = answer.find("\nErrors\n===");
  const auto warnings = answer.find("\nWarnings\n===");
  if (errors == std::string::npos || warnings == std::string::npos) return "no answer";
  std::istringstream lines(answer.substr(errors));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const bool is_title =
        line.empty() || line.starts_with("=") || line == "Errors" || line == "Warnings";
    if (is_title && !out.empty()) break;
    if (is_title) continue;
    if (line.starts_with("  "))  // the process and where it is come after the dashes
      out += (out.ends_with(':') ? " " : "; ") + line.substr(2, line.find(" -- ") - 2);
    else
      out = line.substr(line.find(") ") == std::string::npos ? 0 : line.find(") ") + 2) + ":";
  }
  return out.empty() ? "healthy" : out;
}

}  // namespace nnd::scoreboard

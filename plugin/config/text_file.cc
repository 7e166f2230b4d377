#include "config/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nnd::config {

namespace {

constexpr std::size_t kKiB = 1024;

std::string size_text(std::size_t bytes) {
  return bytes % (kKiB * kKiB) == 0 ? std::to_string(bytes / kKiB / kKiB) + " MiB"
                                    : std::to_string(bytes / kKiB) + " KiB";
}

// Up to `most` bytes; errno as it was set where they can't be had.
bool read_up_to(int fd, std::size_t most, std::string& text) {
  constexpr std::size_t kStep = 64 * kKiB;
  while (text.size() < most) {
    const std::size_t had = text.size();
    text.resize(std::min(most, had + kStep));
    const ssize_t some = read(fd, text.data() + had, text.size() - had);
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(some, 0)));
    if (some == 0) return true;
    pollfd at{fd, POLLIN, 0};
    if (some < 0 && (errno != EAGAIN || poll(&at, 1, -1) < 0)) return false;
  }
  return true;
}

}  // namespace

TextFile read_text_file(const std::string& file, const char* kind, std::size_t most,
                        AllowedFileType allowed) {
  // A FIFO that nobody has opened for writing reads as empty.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {{}, std::string("can't be read: ") + std::strerror(errno)};
  TextFile out;
  struct stat about {};
  const bool known = fstat(fd, &about) == 0;
  if (!known || (allowed == AllowedFileType::kRegular && !S_ISREG(about.st_mode)))
    out.problem = "can't be read: it is no regular file";
  else if (!read_up_to(fd, most + 1, out.text))
    out.problem = std::string("can't be read: ") + std::strerror(errno);
  else if (out.text.size() > most)
    out.problem = "is larger than " + size_text(most) + ", which no " + kind + " is";
  close(fd);
  if (!out.problem.empty()) out.text.clear();
  return out;
}

}  // namespace nnd::config

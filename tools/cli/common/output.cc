#include "cli/common/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace nnd::cli {

namespace {

int g_failed = 0;

void note(bool fine) {
  if (!fine && g_failed == 0) g_failed = errno != 0 ? errno : EIO;
}

}  // namespace

void hold_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0)  // the lowest free one is this one
      static_cast<void>(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

void print_out(std::string_view text) {
  errno = 0;
  note(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void print_err(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

int flush_output() {
  errno = 0;
  note(std::fflush(stdout) == 0);
  return g_failed;
}

}  // namespace nnd::cli

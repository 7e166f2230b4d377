#include "cli/common/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"

namespace nnd::cli {

namespace {

bool begins_with(const std::string& path, std::string_view start) {
  std::string found(start.size(), '\0');
  std::ifstream in(path, std::ios::binary);
  return in.read(found.data(), static_cast<std::streamsize>(found.size())) && found == start;
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string_view start) : path_(std::move(path)) {
  if (path_.empty()) return;
  const auto wrong = [this](const std::string& what) {
    return CallError(kWrongCall, "output", path_ + " " + what, path_);
  };
  constexpr mode_t kUsual = 0666;
  // Where others may write, a link of that name leads to another file, and a FIFO to nowhere.
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK,
             kUsual);
  if (fd_ < 0 && errno == ELOOP) throw wrong("is a link, which is not followed: name the file");
  if (fd_ < 0 && errno != ENXIO)
    throw wrong(fmt::format("can't be written: {}", std::strerror(errno)));
  struct stat about {};
  const bool known = fd_ >= 0 && fstat(fd_, &about) == 0;
  if (known && S_ISCHR(about.st_mode)) return;
  if (known && S_ISREG(about.st_mode) && (about.st_size == 0 || begins_with(path_, start))) return;
  if (fd_ >= 0) close(fd_);
  throw known && S_ISREG(about.st_mode)
      ? wrong("holds something else and is left as it is: remove it, or name another file")
      : wrong("is no regular file");
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
}

bool OutputFile::write(const std::function<void(std::ostream&)>& writer) const {
  if (fd_ < 0) return true;
  errno = 0;
  // The file that was opened, whatever has that name by now.
  std::ofstream out(fmt::format("/proc/self/fd/{}", fd_), std::ios::binary);
  writer(out);
  out.flush();
  if (!out)
    print_err(
        fmt::format("{} is not complete: {}\n", path_, std::strerror(errno != 0 ? errno : EIO)));
  return out.good();
}

}  // namespace nnd::cli

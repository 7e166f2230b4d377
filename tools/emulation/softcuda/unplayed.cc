#include "unplayed.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>

#include "log.h"

namespace softcuda {
namespace {

// In one piece: the processes of a job write to one file.
void append_line(const char* file, const std::string& line) {
  const int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return;
  if (write(fd, line.data(), line.size()) < 0) log("{} can't be written", file);
  close(fd);
}

}  // namespace

void note_unplayed(const std::string& what) {
  static std::mutex mutex;
  static auto& noted = *new std::set<std::string>;  // outlives every stream thread
  const std::lock_guard lock(mutex);
  if (!noted.insert(what).second) return;
  log("not played: {}", what);
  if (const char* file = std::getenv("SOFTCUDA_UNPLAYED"); file != nullptr && *file != '\0')
    append_line(file, what + "\n");
}

}  // namespace softcuda

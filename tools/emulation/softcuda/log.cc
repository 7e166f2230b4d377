#include "log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace softcuda {
namespace {

std::FILE* file() {
  static std::FILE* const stream = []() -> std::FILE* {
    const char* name = std::getenv("SOFTCUDA_LOG");
    if (name == nullptr || *name == '\0') return nullptr;
    return std::string_view(name) == "-" ? stderr : std::fopen(name, "ae");
  }();
  return stream;
}

}  // namespace

bool log_enabled() { return file() != nullptr; }

void write_log(std::string_view line) {
  const std::string text = fmt::format("softcuda[{}:{}] {}\n", getpid(), syscall(SYS_gettid), line);
  std::fwrite(text.data(), 1, text.size(), file());
  std::fflush(file());
}

}  // namespace softcuda

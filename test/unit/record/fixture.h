// What the tests of the recorder share: a directory of their own, a recorder that writes into it,
// and its log read back.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "log/box.h"
#include "record/event.h"
#include "record/recorder.h"
#include "support/event_log.h"
#include "support/sanitizers.h"
#include "support/temp_dir.h"

namespace nnd::record::testing {

using log::BoxContents;
using log::BoxRecord;
using log::read_box;

namespace fs = std::filesystem;
using Json = nlohmann::json;

using test::only;
using test::read_log;
using test::TempDir;

inline config::Settings log_to(const std::string& path) {
  config::Settings settings;
  settings.file = path;
  return settings;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

inline bool gapless(const std::vector<Json>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i]["seq"] != i || lines[i]["proc"] != lines[0]["proc"]) return false;
  return !lines.empty();
}

inline bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Waits until the condition holds; gives up after ten seconds.
template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Waits until the drain has taken all that was emitted: it was under way once since.
inline bool drained(const std::string& box) {
  const auto alive = [&] { return read_box(read_file(box)).header.alive_mono_ns; };
  for (int pass = 0; pass < 2; ++pass)
    if (!eventually([&, before = alive()] { return alive() > before; })) return false;
  return true;
}

// From here on this process's log can't be written: its descriptor is /dev/full's.
inline void break_log(const std::string& path) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry, gone) == path)
      ::dup2(full, std::stoi(entry.path().filename().string()));
  }
  ::close(full);
}

inline void emit_numbered(unsigned conn, unsigned number) {
  Event(EventId::kConnOpen).add("conn", conn).add("polls", number).emit();
}

// What NCCL's logger was given while one of these lives: "level/flags text".
class CapturedAdvice {
 public:
  CapturedAdvice() {
    const std::lock_guard lock(mutex());
    all().clear();
    set_nccl_logger(logger);
  }
  ~CapturedAdvice() { set_nccl_logger(nullptr); }
  CapturedAdvice(const CapturedAdvice&) = delete;
  CapturedAdvice& operator=(const CapturedAdvice&) = delete;
  static std::vector<std::string> lines() {
    const std::lock_guard lock(mutex());
    return all();
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::vector<std::string>& all() {
    static std::vector<std::string> lines;
    return lines;
  }
  [[gnu::format(printf, 5, 6)]] static void logger(int level, unsigned long flags, const char*, int,
                                                   const char* fmt, ...) {
    char line[1024];
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    const std::lock_guard lock(mutex());
    all().push_back(std::to_string(level) + "/" + std::to_string(flags) + " " + line);
  }
};

// Runs the body in a forked child, which ends with the body's result; returns wait()'s status.
template <class Body>
int in_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

inline bool ended_with(int status, int code) {
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

using test::kSanitized;
using test::kThreadSanitizer;

}  // namespace nnd::record::testing

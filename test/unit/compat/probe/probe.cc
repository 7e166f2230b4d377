// Linked like the plugin. Uses what newer C libraries do in other ways than 2.28: unwinding, the
// stat family, reference counts that look for threads, random_device, waiting by the steady clock.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

[[gnu::noinline]] void fail(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  fail(depth - 1);
  throw std::logic_error("not reached");
}

bool unwinds() {
  try {
    fail(20);
  } catch (const std::runtime_error& error) {
    return error.what() == std::string("thrown");
  }
  return false;
}

bool knows_files() {
  struct stat here {};
  struct stat link {};
  const int fd = dup(0);
  const bool has_fd = fd < 0 || fstat(fd, &here) == 0;
  if (fd >= 0) close(fd);
  return has_fd && stat("/proc/self", &here) == 0 && S_ISDIR(here.st_mode) &&
         lstat("/proc/self", &link) == 0 && S_ISLNK(link.st_mode) &&
         std::filesystem::is_directory("/proc") && !std::filesystem::exists("/proc/nothing-here");
}

bool shares() {
  const auto shared = std::make_shared<int>(7);
  std::thread other([copy = shared] { static_cast<void>(std::shared_ptr<int>(copy)); });
  other.join();
  return shared.use_count() == 1;
}

bool draws() {
  std::random_device device;
  std::set<unsigned> numbers;
  for (int i = 0; i < 8; ++i) numbers.insert(device());
  return numbers.size() > 4;
}

// Past and future deadlines of the steady clock.
bool waits() {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  const auto past = start - std::chrono::milliseconds(1500);
  if (condition.wait_until(lock, past) != std::cv_status::timeout) return false;
  while (condition.wait_until(lock, start + std::chrono::milliseconds(20)) !=
         std::cv_status::timeout) {
  }
  return std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(20) && gettid() > 0;
}

bool reads_streams() {
  std::ifstream file("/proc/self/status");
  std::string word;
  return static_cast<bool>(file >> word) && file.rdbuf()->in_avail() >= 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* compat_probe() {
  if (!unwinds()) return "unwinding";
  if (!knows_files()) return "files";
  if (!shares()) return "shared pointers";
  if (!draws()) return "random numbers";
  if (!waits()) return "waiting";
  if (!reads_streams()) return "streams";
  return "";
}

#include "stacks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "elf/symbols.h"

namespace softcuda {
namespace {

constexpr int kFrames = 64;

struct Stack {
  std::array<void*, kFrames> frames;
  int count;
  std::atomic<pid_t> wanted;  // 0 once it is written
} stack;

// backtrace() is no async-signal-safe function, but once loaded it only reads unwind tables; a
// thread that holds the loader's lock may stop here, which the wait below survives.
void take_stack(int /*signal*/) {
  const int error = errno;
  if (stack.wanted.load() == static_cast<pid_t>(syscall(SYS_gettid))) {
    stack.count = backtrace(stack.frames.data(), kFrames);
    stack.wanted.store(0);
  }
  errno = error;
}

// The functions of a file, by their end; empty where it has no symbol table.
const std::vector<nnd::elf::Symbol>& functions_of(const std::string& path) {
  static auto& known = *new std::map<std::string, std::vector<nnd::elf::Symbol>>;
  const auto [place, added] = known.try_emplace(path);
  if (!added) return place->second;
  for (nnd::elf::Symbol& symbol : nnd::elf::read_symbols(path).symbols)
    if (symbol.is_function) place->second.push_back(std::move(symbol));
  std::sort(place->second.begin(), place->second.end(),
            [](const nnd::elf::Symbol& a, const nnd::elf::Symbol& b) { return a.value < b.value; });
  return place->second;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return name;
  const std::string full = text.get();
  return full.substr(0, full.find('('));
}

std::string frame_name(void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0)
    return fmt::format("{}", address);
  const std::string path = *map->l_name == '\0' ? "/proc/self/exe" : map->l_name;
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
  const auto& functions = functions_of(path);
  auto after = std::upper_bound(
      functions.begin(), functions.end(), offset,
      [](std::uintptr_t wanted, const nnd::elf::Symbol& symbol) { return wanted < symbol.value; });
  const std::string file = std::filesystem::path(info.dli_fname).filename().string();
  if (after != functions.begin() && offset < std::prev(after)->value + std::prev(after)->bytes)
    return fmt::format("{} ({}+{:#x})", demangled(std::prev(after)->name), file, offset);
  return fmt::format("{} ({}+{:#x})", info.dli_sname == nullptr ? "?" : info.dli_sname, file,
                     offset);
}

std::string first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::string stack_of(pid_t thread, const std::filesystem::path& about) {
  using namespace std::chrono_literals;
  std::string text = fmt::format("thread {} {}, in the kernel: {}, system call {}\n", thread,
                                 first_line(about / "comm"), first_line(about / "wchan"),
                                 first_line(about / "syscall"));
  stack.wanted.store(thread);
  syscall(SYS_tgkill, getpid(), thread, SIGURG);
  for (int i = 0; i < 200 && stack.wanted.load() != 0; ++i) std::this_thread::sleep_for(2ms);
  if (stack.wanted.exchange(0) != 0) {
    text += "  takes no signal\n";
  } else {
    constexpr int kOwn = 2;  // the handler and what called it
    for (int i = kOwn; i < stack.count; ++i)
      text += fmt::format("  {}\n", frame_name(stack.frames[static_cast<std::size_t>(i)]));
  }
  return text;
}

void serve(const std::function<void(const std::string&)>& tell) {
  pthread_setname_np(pthread_self(), "softcuda-stacks");
  sigset_t quit;
  sigemptyset(&quit);
  sigaddset(&quit, SIGQUIT);
  const auto own = std::to_string(syscall(SYS_gettid));
  for (int signal = 0; sigwait(&quit, &signal) == 0;) {
    std::error_code ignored;
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored))
      if (const std::string thread = entry.path().filename().string(); thread != own)
        text += stack_of(std::atoi(thread.c_str()), entry.path());
    tell(text);
  }
}

}  // namespace

void tell_stacks_on_sigquit(std::function<void(const std::string&)> tell) {
  backtrace(stack.frames.data(), kFrames);  // loads what it needs, outside a signal handler
  struct sigaction action {};
  action.sa_handler = take_stack;
  action.sa_flags = SA_RESTART;
  sigaction(SIGURG, &action, nullptr);
  sigset_t quit;
  sigemptyset(&quit);
  sigaddset(&quit, SIGQUIT);
  pthread_sigmask(SIG_BLOCK, &quit, nullptr);
  std::thread(serve, std::move(tell)).detach();
}

}  // namespace softcuda

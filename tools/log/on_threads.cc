#include "log/on_threads.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace nnd::log {

std::size_t cpus_for(std::size_t parts) {
  const std::size_t cpus = std::thread::hardware_concurrency();
  return std::max<std::size_t>(std::min(cpus, parts), 1);
}

void on_threads(std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::vector<std::jthread> running;
  try {
    for (std::size_t i = 1; i < threads; ++i) running.emplace_back([&work, i] { work(i); });
  } catch (const std::exception&) {
  }
  work(0);
}

}  // namespace nnd::log

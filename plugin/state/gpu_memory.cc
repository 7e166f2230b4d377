#include "state/gpu_memory.h"

#include <mutex>
#include <set>
#include <utility>

#include "context/fork_mutex.h"
#include "context/immortal.h"

namespace nnd::state {

namespace {

struct Given {
  context::ForkMutex mutex;
  std::set<std::pair<std::string, bool>> ways;  // device, by DMA-BUF
};

Given& given() {
  static context::Immortal<Given> instance;
  return *instance;
}

}  // namespace

bool first_gpu_memory(const std::string& device, bool dmabuf) {
  const std::lock_guard guard(given().mutex);
  return given().ways.emplace(device, dmabuf).second;
}

bool has_gpu_memory(const std::string& device) {
  const std::lock_guard guard(given().mutex);
  return given().ways.contains({device, false}) || given().ways.contains({device, true});
}

}  // namespace nnd::state

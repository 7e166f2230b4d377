#include "verbs/listed.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "context/fork_mutex.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/hooks.h"

namespace nnd::verbs {
namespace {

struct Listed {
  ibv_device* device;
  bool tried = false;  // NCCL opened it, or failed to
  int open_errno = 0;
  ibv_context* context = nullptr;  // null: closed again
  Answers answers;
};

struct Devices {
  context::ForkMutex mutex;
  pid_t pid = 0;
  const Library* lib = nullptr;
  ibv_device** list = nullptr;
  std::vector<Listed> devices;
  std::map<std::string, int, std::less<>> dmabuf;
};

Devices& devices() {
  static Devices& instance = *new Devices;  // outlives every thread of NCCL's
  return instance;
}

std::atomic<bool> g_listed{false};

template <class F>
void with_context(const ibv_context* context, F&& note) {
  if (!g_listed.load(std::memory_order_acquire)) return;
  Devices& now = devices();
  const std::lock_guard lock(now.mutex);
  for (Listed& one : now.devices)
    if (one.context == context) note(one);
}

facts::VerbsDevice examine(const Library& lib, const Listed& one) {
  facts::VerbsDevice fact;
  fact.name = one.device->name;
  fact.uverbs_name = one.device->dev_name;
  fact.open_errno = one.open_errno;
  if (one.open_errno != 0) return fact;
  ibv_context* context = one.context;
  if (context == nullptr) {
    context = lib.real.open_device(one.device);
    // One that NCCL opened is no device that can't be opened.
    if (context == nullptr && !one.tried) fact.open_errno = errno != 0 ? errno : EIO;
    if (context == nullptr) return fact;
  }
  read_device(lib.real, context, one.answers, fact);
  if (one.context == nullptr) {
    forget_gids(context);
    lib.real.close_device(context);
  }
  return fact;
}

}  // namespace

void note_list(const Library& lib, ibv_device** list, int count) {
  Devices& now = devices();
  const std::lock_guard lock(now.mutex);
  now.pid = ::getpid();
  now.lib = &lib;
  now.list = list;
  now.devices.clear();
  for (int i = 0; i < count; ++i) now.devices.push_back(Listed{list[i], false, 0, nullptr, {}});
  g_listed.store(true, std::memory_order_release);
}

void note_open(ibv_device* device, ibv_context* context, int error) {
  if (!g_listed.load(std::memory_order_acquire)) return;
  Devices& now = devices();
  const std::lock_guard lock(now.mutex);
  for (Listed& one : now.devices) {
    if (one.device != device || one.tried) continue;
    one.tried = true;
    one.context = context;
    if (context == nullptr) one.open_errno = error != 0 ? error : EIO;
  }
}

void note_close(const ibv_context* context) {
  with_context(context, [](Listed& one) { one.context = nullptr; });
}

void note_device(const ibv_context* context, int error, const ibv_device_attr& attr) {
  with_context(context, [&](Listed& one) {
    one.answers.device = std::pair(error, error == 0 ? attr : ibv_device_attr{});
  });
}

void note_port(const ibv_context* context, unsigned port, int error, const ibv_port_attr& attr) {
  with_context(context, [&](Listed& one) {
    one.answers.ports[port] = {error, error == 0 ? attr : ibv_port_attr{}};
  });
}

std::optional<std::vector<facts::VerbsDevice>> end_list(ibv_device** list) {
  if (!g_listed.load(std::memory_order_acquire)) return std::nullopt;
  Devices& now = devices();
  const std::lock_guard lock(now.mutex);
  if (now.pid != ::getpid() || (list != nullptr && list != now.list)) return std::nullopt;
  g_listed.store(false, std::memory_order_release);
  std::vector<facts::VerbsDevice> out;
  for (const Listed& one : now.devices) {
    out.push_back(examine(*now.lib, one));
    const auto answer = now.dmabuf.find(out.back().name);
    if (answer != now.dmabuf.end()) out.back().dmabuf_errno = answer->second;
  }
  now.devices.clear();
  now.list = nullptr;
  return out;
}

void heard_dmabuf(const ibv_context* context, int error) {
  const std::string name = device_name(context);
  Devices& now = devices();
  {
    const std::lock_guard lock(now.mutex);
    const auto [place, fresh] = now.dmabuf.emplace(name, error);
    if (!fresh && std::exchange(place->second, error) == error) return;
  }
  // While there is a list its facts are yet to come, with this answer.
  if (!g_listed.load(std::memory_order_acquire)) hooks().dmabuf_answered(name, error);
}

}  // namespace nnd::verbs

// ibv_get_device_list, ibv_free_device_list, ibv_open_device, ibv_close_device.
#include "verbs/devices.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/handlers.h"
#include "verbs/hooks.h"
#include "verbs/listed.h"
#include "verbs/ops.h"
#include "verbs/qp_events.h"

namespace nnd::verbs {
namespace {

// What a list that NCCL holds stands for. Lists are short-lived: NCCL frees them in the same call.
struct List {
  std::vector<ibv_device*> all;  // as verbs returned it
  // Opened by the probe: handed to NCCL when it opens the device, so that each is opened once.
  std::map<ibv_device*, ibv_context*> opened;
  std::map<ibv_device*, int> failed;  // or not: NCCL then gets that errno, once
};

struct Book {
  context::ForkMutex mutex;
  pid_t pid = 0;  // a forked child probes anew
  std::set<const Library*> probed;
  std::map<ibv_device**, List> lists;
};

Book& book() {
  static context::Immortal<Book> instance;
  return *instance;
}

std::atomic<bool> g_list_seen{false};

bool first_time(Book& all, const Library& lib) {
  if (all.pid != ::getpid()) {
    all.pid = ::getpid();
    all.probed.clear();
    all.lists.clear();
  }
  return lib.origin != Origin::kPlain && all.probed.insert(&lib).second;
}

void forget(const ibv_context* context) {
  state::qp_table().forget(context);
  forget_gids(context);
  forget_read_back(context);
}

// Refused devices are left out, and NCCL will never open them. free_device_list puts everything
// back first, since the real one gives up each device that it finds.
int hide(const Library& lib, ibv_device** list, Book& all,
         const std::vector<ibv_device*>& devices) {
  int visible = 0;
  for (ibv_device* device : devices) {
    if (hooks().may_see_device(device->name)) {
      list[visible++] = device;
      continue;
    }
    List& entry = all.lists[list];
    entry.all = devices;
    if (const auto opened = entry.opened.extract(device)) {
      forget(opened.mapped());
      lib.real.close_device(opened.mapped());
    }
  }
  list[visible] = nullptr;
  return visible;
}

bool wants_facts_first(ibv_device** list, int count) {
  std::vector<std::string> names(static_cast<std::size_t>(count));
  std::transform(list, list + count, names.begin(),
                 [](const ibv_device* one) { return one->name; });
  return hooks().facts_first(names);
}

void examine(const Library& lib, ibv_device** list, int& count) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  const std::vector<ibv_device*> devices(list, list + count);
  if (first_time(all, lib)) {
    // An empty list is not freed by every NCCL.
    if (count > 0 && !wants_facts_first(list, count)) return note_list(lib, list, count);
    List& entry = all.lists[list];
    entry.all = devices;
    std::vector<facts::VerbsDevice> facts;
    for (ibv_device* device : devices) {
      ibv_context* context = nullptr;
      facts.push_back(probe(lib.real, device, &context));
      if (context != nullptr)
        entry.opened[device] = context;
      else
        entry.failed[device] = facts.back().open_errno;
    }
    context::quietly([&] { hooks().devices_seen(facts); });
  }
  count = hide(lib, list, all, devices);
}

// What came of our own attempt to open the device, once: a context, or null and an errno.
bool take_opened(ibv_device* device, ibv_context*& context, int& error) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  if (all.pid != ::getpid()) return false;
  for (auto& [list, entry] : all.lists) {
    if (const auto opened = entry.opened.extract(device)) {
      context = opened.mapped();
      return true;
    }
    if (const auto failed = entry.failed.extract(device)) {
      error = failed.mapped();
      return true;
    }
  }
  return false;
}

void tell_devices(const std::optional<std::vector<facts::VerbsDevice>>& facts) {
  if (facts) hooks().devices_seen(*facts);
}

}  // namespace

void end_device_list() noexcept {
  context::quietly([] { tell_devices(end_list(nullptr)); });
}

bool may_see_port(const ibv_context* context, unsigned port) {
  return hooks().may_see_port(context->device->name, port);
}

bool device_list_seen() noexcept { return g_list_seen.load(std::memory_order_relaxed); }

namespace handlers {

ibv_device** get_device_list(const Library& lib, int* count) {
  g_list_seen.store(true, std::memory_order_relaxed);
  int own_count = 0;
  ibv_device** list = lib.real.get_device_list(&own_count);
  if (list == nullptr)
    note_failure("ibv_get_device_list", errno);
  else if (lib.real.open_device != nullptr && lib.real.close_device != nullptr)
    context::quietly([&] { examine(lib, list, own_count); });
  if (count != nullptr) *count = own_count;
  return list;
}

void free_device_list(const Library& lib, ibv_device** list) {
  context::quietly([&] { tell_devices(end_list(list)); });
  context::quietly([&] {
    Book& all = book();
    const std::lock_guard lock(all.mutex);
    const auto found = all.lists.find(list);
    if (found == all.lists.end() || all.pid != ::getpid()) return;
    // NCCL opens every device before it frees the list: it has no use for what is left.
    for (const auto& [device, context] : found->second.opened) {
      forget(context);
      lib.real.close_device(context);
    }
    for (std::size_t i = 0; i < found->second.all.size(); ++i) list[i] = found->second.all[i];
    list[found->second.all.size()] = nullptr;
    all.lists.erase(found);
  });
  lib.real.free_device_list(list);
}

// NCCL 2.27 and newer ask the context's own query_port first, and ibv_query_port, where we are,
// when there is none (v2.28.9-1 src/misc/ibvwrap.cc). libibverbs itself has another way to the
// driver's.
static void lead_to_filter(ibv_context& context) {
  verbs_context* const own = verbs_get_ctx_op(&context, query_port);
  if (own == nullptr) return;
  for (unsigned port = 1; port <= UINT8_MAX; ++port)
    if (!may_see_port(&context, port)) own->query_port = nullptr;
}

ibv_context* open_device(const Library& lib, ibv_device* device) {
  ibv_context* context = nullptr;
  int error = 0;
  bool taken = false;
  context::quietly([&] { taken = take_opened(device, context, error); });
  if (!taken) {
    context = lib.real.open_device(device);
    error = context == nullptr ? errno : 0;
  }
  if (context != nullptr)
    context::quietly([&] {
      patch_ops(*context);
      lead_to_filter(*context);
    });
  context::quietly([&] { note_open(device, context, error); });
  if (context == nullptr) {
    note_failure("ibv_open_device", error);
    errno = error;
  }
  return context;
}

int close_device(const Library& lib, ibv_context* context) {
  // Before the real call: afterwards the address may belong to a new context at once.
  context::quietly([&] {
    note_close(context);
    forget(context);
  });
  const int rc = lib.real.close_device(context);
  if (rc != 0) note_failure("ibv_close_device", rc == -1 ? errno : rc);
  return rc;
}

}  // namespace handlers
}  // namespace nnd::verbs

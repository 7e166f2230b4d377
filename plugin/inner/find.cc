#include "inner/find.h"

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "inner/nccl.h"
#include "inner/owner.h"
#include "inner/search.h"
#include "nccl_abi/releases.h"

namespace nnd::inner {
namespace {

struct Transport {
  const char* symbol;
  std::string_view name;
  std::string_view (*slots)(int net_version);
};
constexpr Transport kIb{"ncclNetIb", "IB", nccl_abi::ib_slots};
constexpr Transport kSocket{"ncclNetSocket", "Socket", nccl_abi::socket_slots};

Shape shape_of(const Transport& transport, int net_version) {
  return {transport.name, std::string(transport.slots(net_version))};
}

// What was found already, so that an init per communicator doesn't search again.
struct Known {
  Module module;
  const Transport* transport;
  Found found;
};
struct Cache {
  context::ForkMutex mutex;
  std::vector<Known> known;
};
Cache& cache() {
  static context::Immortal<Cache> instance;
  return *instance;
}

std::string api(int version) { return "net API v" + std::to_string(version); }

// Empty when the NCCL's own transports have the version asked for.
std::string wrong_version(const Module& module, const Found& asked, Trouble* trouble) {
  const int own = own_net_version(module, asked.nccl_version);
  if (own == asked.net_version) return {};
  const std::string who = "NCCL " + version_text(asked.nccl_version) + " in " + module.path;
  if (own == 0) {
    *trouble = Trouble::kNcclUnknown;
    return who +
           " is not known to this plugin, and which net API its own transports have can't be told";
  }
  const std::string has = who + " has " + api(own) + " in its own transports";
  if (own > asked.net_version) {
    *trouble = own > nccl_abi::kNewestNet ? Trouble::kNcclTooNew : Trouble::kWrongVersion;
    if (own > nccl_abi::kNewestNet) {
      return has + ", this plugin knows none above v" + std::to_string(nccl_abi::kNewestNet);
    }
  }
  *trouble = Trouble::kWrongVersion;
  return has + ", and the plugin was asked for v" + std::to_string(asked.net_version);
}

Found look(const Module& module, const Transport& transport, int net_version) {
  Found found;
  found.net_version = net_version;
  found.module = module.path;
  found.nccl_version = nccl_version(module);
  found.why = wrong_version(module, found, &found.trouble);
  if (!found.why.empty()) return found;
  const Hit hit = search(module, transport.symbol, shape_of(transport, net_version));
  found.trouble = hit.trouble;
  found.method = hit.method;
  if (hit.address == 0) {
    found.why = "NCCL's own " + std::string(transport.name) + " transport was not found in " +
                module.path + ": " + hit.why;
    return found;
  }
  found.name = transport.name;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): verified to lie in the module
  found.vtable = reinterpret_cast<const void*>(hit.address);
  return found;
}

Found look_once(const Module& module, const Transport& transport, int net_version) {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  for (const Known& k : c.known) {
    if (k.found.net_version == net_version && k.transport == &transport &&
        same_module(k.module, module)) {
      return k.found;
    }
  }
  Found found = look(module, transport, net_version);
  if (found) c.known.push_back({module, &transport, found});
  return found;
}

Calling caller_of(const void* caller, const Transport& transport, int net_version) {
  const Shape shape = shape_of(transport, net_version);
  return calling_module(caller, [&](const Module& m) {
    const Trouble trouble = search(m, transport.symbol, shape).trouble;
    return trouble != Trouble::kNotFound && trouble != Trouble::kFileReplaced;
  });
}

Found find(const void* caller, int net_version, const Transport& transport) {
  Found found;
  found.net_version = net_version;
  if (nccl_abi::ib_slots(net_version).empty()) {
    found.trouble = Trouble::kWrongVersion;
    found.why = api(net_version) + " is not known to this plugin";
    return found;
  }
  const Calling calling = caller_of(caller, transport, net_version);
  if (!calling.module) {
    found.trouble = calling.trouble;
    found.why = calling.why;
    return found;
  }
  const Module& module = *calling.module;
  std::optional<Module> other = other_owner(module);
  if (!other) {
    found = look_once(module, transport, net_version);
    if (found) other = claim(module);
  }
  return other ? second_nccl(module, *other, net_version) : found;
}

}  // namespace

const char* to_string(Method method) {
  switch (method) {
    case Method::kSymtab:
      return "symtab";
    case Method::kShape:
      return "shape";
    case Method::kPlugin:
      return "plugin";
    case Method::kNone:
      break;
  }
  return "none";
}

Found find_ib(const void* caller, int net_version) { return find(caller, net_version, kIb); }
Found find_socket(const void* caller, int net_version) {
  return find(caller, net_version, kSocket);
}

CallingNccl calling_nccl(const void* caller) {
  const Calling calling = calling_module(caller, [](const Module&) { return false; });
  if (!calling.module) return {};
  return {nccl_version(*calling.module), calling.module->path};
}

}  // namespace nnd::inner

#include "inner/chain.h"

#include <strings.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "inner/module.h"
#include "inner/nccl.h"
#include "inner/owner.h"
#include "inner/plugin.h"

namespace nnd::inner {
namespace {

constexpr const char* kDefaultPlugin = "libnccl-net.so";
constexpr int kOldestWrapped = 6;

std::atomic<const Plugin*> g_offered{nullptr};  // NCCL has found its table
std::atomic<const Plugin*> g_unused{nullptr};   // NCCL_NET keeps it out

bool is(std::string_view setting, const char* word) {
  return strcasecmp(std::string(setting).c_str(), word) == 0;
}

// The oldest net API that an NCCL takes whose own is this one, or that has come down to it:
// 2.18 (v6) takes v4, 2.19 to 2.25 (v7 to v9) v5, 2.26 and newer v6 (src/net.cc,
// src/plugin/net.cc).
constexpr int oldest_taken(int net_version) {
  constexpr int kFirstWithoutV5 = 10;
  if (net_version >= kFirstWithoutV5) return kOldestWrapped;
  return net_version > kOldestWrapped ? kOldestNet + 1 : kOldestNet;
}

const char* name_of(const void* table) { return *static_cast<const char* const*>(table); }

// The plugin that the setting leads to; null: one of NCCL's own transports.
const Plugin* plugin_of(std::string_view setting) {
  if (is(setting, "IB") || is(setting, "Socket")) return nullptr;
  return &net_plugin(is(setting, "auto") ? kDefaultPlugin : std::string(setting));
}

// The version of it that an NCCL comes down to which looks up this one; 0: it passes the plugin
// over.
int version_taken(std::string_view setting, const Plugin& plugin, int net_version) {
  const int version = plugin.newest_version(oldest_taken(net_version), net_version);
  if (version == 0 || !is(setting, "auto")) return version;
  const char* const wanted = std::getenv("NCCL_NET");
  const char* const name = name_of(plugin.table(version));
  if (name != nullptr && (wanted == nullptr || strcasecmp(wanted, name) == 0)) return version;
  g_unused.store(&plugin, std::memory_order_release);
  return 0;
}

// With which NCCL finds the transport that is wrapped where no plugin is.
const char* own_name(std::string_view setting) {
  if (is(setting, "Socket")) return "Socket";
  const char* const wanted = std::getenv("NCCL_NET");
  // A plugin that can't be wrapped: said at init, to which NCCL comes by the name it looks for.
  const bool plugin = !is(setting, "auto") && !is(setting, "IB");
  return plugin && wanted != nullptr ? wanted : "IB";
}

bool callable(const void* table) {
  const auto* words = static_cast<const void* const*>(table);
  const std::optional<Module> owner = words[0] != nullptr ? module_of(words[1]) : std::nullopt;
  return owner && owner->covers(reinterpret_cast<std::uintptr_t>(words[1]), 1, PF_X);
}

Found from_plugin(const Plugin& plugin, int net_version) {
  Found found;
  found.net_version = net_version;
  found.module = plugin.file;
  if (plugin.handle == nullptr) {
    found.trouble = Trouble::kPluginMissing;
    found.why = plugin.why;
    return found;
  }
  const void* const table = plugin.table(net_version);
  const std::string symbol = "ncclNetPlugin_v" + std::to_string(net_version);
  if (table == nullptr) {
    found.trouble = Trouble::kPluginVersion;
    found.why = plugin.file + " has no " + symbol + ", which this NCCL's version needs (it has " +
                plugin.versions() + ")";
  } else if (!callable(table)) {
    found.trouble = Trouble::kUnfit;
    found.why = symbol + " of " + plugin.file + " has no name or no init";
  } else {
    found.vtable = table;
    found.method = Method::kPlugin;
    found.name = name_of(table);
  }
  return found;
}

Found find_plugin(const Plugin& plugin, const void* caller, int net_version) {
  Found found = from_plugin(plugin, net_version);
  const Calling calling = calling_module(caller, [](const Module&) { return false; });
  if (!calling.module) return found;
  found.nccl_version = nccl_version(*calling.module);
  const std::optional<Module> other = found ? claim(*calling.module) : other_owner(*calling.module);
  return other ? second_nccl(*calling.module, *other, net_version) : found;
}

Found choose(std::string_view setting, const void* caller, int net_version) {
  if (is(setting, "Socket")) return find_socket(caller, net_version);
  const Plugin* const plugin = plugin_of(setting);
  const bool automatic = is(setting, "auto");
  if (plugin != nullptr &&
      (!automatic || version_taken(setting, *plugin, net_version) == net_version))
    return find_plugin(*plugin, caller, net_version);
  return find_ib(caller, net_version);
}

struct Last {
  context::ForkMutex mutex;
  Found found;
};
Last& last() {
  static context::Immortal<Last> instance;
  return *instance;
}

}  // namespace

Offer choose_offer(std::string_view setting, int net_version) {
  // A plugin that has our own symbols in reach (it is linked to us) leads here again.
  static thread_local bool inside = false;
  if (inside) return {};
  struct Inside {
    Inside() { inside = true; }
    ~Inside() { inside = false; }
  } const guard;
  Offer out;
  const Plugin* const plugin = plugin_of(setting);
  const int version = plugin == nullptr ? 0 : version_taken(setting, *plugin, net_version);
  if (version != 0) g_offered.store(plugin, std::memory_order_release);
  if (version == 0)
    out = {net_version >= kOldestWrapped, own_name(setting), nullptr};
  else if (version == net_version && version >= kOldestWrapped)
    out = {true, name_of(plugin->table(version)), nullptr};
  else if (version == net_version)
    out.theirs = plugin->table(version);
  return out;
}

bool plugin_offered() { return g_offered.load(std::memory_order_acquire) != nullptr; }

void* plugin_symbol(const char* name) {
  const Plugin* plugin = g_offered.load(std::memory_order_acquire);
  // NCCL takes these from the library that it opened as net plugin, used or not
  // (ncclGetNetPluginLib in src/plugin/plugin_open.cc, openTunerPluginLib in src/misc/tuner.cc).
  const std::string_view symbol(name);
  if (plugin == nullptr &&
      (symbol.starts_with("ncclTunerPlugin_") || symbol.starts_with("ncclProfiler_")))
    plugin = g_unused.load(std::memory_order_acquire);
  return plugin == nullptr ? nullptr : plugin->symbol(name);
}

Found find_inner(std::string_view setting, const void* caller, int net_version) {
  Found found = choose(setting, caller, net_version);
  if (found) {
    const std::lock_guard lock(last().mutex);
    last().found = found;
  }
  return found;
}

Found wrapped() {
  const std::lock_guard lock(last().mutex);
  return last().found;
}

}  // namespace nnd::inner

#include "inner/chain.h"

#include <dlfcn.h>
#include <strings.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "inner/module.h"
#include "inner/nccl.h"
#include "inner/owner.h"
#include "nccl_abi/releases.h"

namespace nnd::inner {
namespace {

constexpr const char* kDefaultPlugin = "libnccl-net.so";
constexpr int kNewestAsked = 32;      // highest ncclNetPlugin_vN looked for, to name it
constexpr std::size_t kRequired = 6;  // init, devices, getProperties, listen, connect, accept

std::string symbol_name(int net_version) { return "ncclNetPlugin_v" + std::to_string(net_version); }

bool is(std::string_view setting, const char* word) {
  return strcasecmp(std::string(setting).c_str(), word) == 0;
}

// NCCL's rules (v2.28.9-1 src/plugin/plugin_open.cc): a path or lib*.so is taken as it is.
std::vector<std::string> file_names(const std::string& name) {
  std::vector<std::string> names{name};
  const bool library = name.starts_with("lib") && name.ends_with(".so");
  if (name.find('/') == std::string::npos && !library) {
    names.push_back("libnccl-net-" + name + ".so");
  }
  return names;
}

struct Opened {
  void* handle = nullptr;
  std::string errors;  // of the loader, where handle is null
};

Opened open_plugin(const std::string& name) {
  Opened opened;
  if (is(name, "STATIC_PLUGIN")) {  // linked into the main program
    opened.handle = dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
    return opened;
  }
  for (const std::string& file : file_names(name)) {
    opened.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened.handle != nullptr) return opened;
    const char* error = dlerror();
    opened.errors += (opened.errors.empty() ? "" : "; ") + std::string(error ? error : file);
  }
  return opened;
}

bool is_this_plugin(const Module& module) {
  const Module& own = own_module();
  return same_module(module, own) || (!own.build_id.empty() && module.build_id == own.build_id);
}

std::string versions_of(void* handle) {
  std::string list;
  for (int v = kNewestAsked; v > 0; --v) {
    if (dlsym(handle, symbol_name(v).c_str()) == nullptr) continue;
    list += (list.empty() ? "v" : ", v") + std::to_string(v);
  }
  return list.empty() ? "none" : list;
}

bool usable(const void* vtable) {
  const auto* words = static_cast<const void* const*>(vtable);
  if (words[0] == nullptr) return false;
  for (std::size_t i = 1; i <= kRequired; ++i) {
    const std::optional<Module> owner = module_of(words[i]);
    if (!owner || !owner->covers(reinterpret_cast<std::uintptr_t>(words[i]), 1, PF_X)) return false;
  }
  return true;
}

// The plugin's file, for messages: from one of its symbols, or the name that it was opened by.
std::string file_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map->l_name[0] != '\0') {
    return map->l_name;
  }
  return name;
}

struct Plugin {
  Found found;
  bool self = false;  // the name leads to this very plugin
};

Plugin load(const std::string& name, int net_version) {
  Plugin result;
  Found& found = result.found;
  found.net_version = net_version;
  const Opened opened = open_plugin(name);
  if (opened.handle == nullptr) {
    found.trouble = Trouble::kPluginMissing;
    found.why = "the plugin \"" + name + "\" can't be loaded: " + opened.errors;
    return result;
  }
  found.module = file_of(opened.handle, name);
  const void* vtable = dlsym(opened.handle, symbol_name(net_version).c_str());
  const std::optional<Module> module = vtable != nullptr ? module_of(vtable) : std::nullopt;
  result.self = module && is_this_plugin(*module);
  if (result.self) {
    found.trouble = Trouble::kPluginMissing;
    found.why = found.module + " is this plugin itself";
  } else if (vtable == nullptr) {
    found.trouble = Trouble::kPluginVersion;
    found.why = found.module + " has no " + symbol_name(net_version) +
                ", which this NCCL's version needs (it has " + versions_of(opened.handle) + ")";
  } else if (!usable(vtable)) {
    found.trouble = Trouble::kUnfit;
    found.why = symbol_name(net_version) + " of " + found.module + " lacks required functions";
  }
  if (found.trouble != Trouble::kNone) {
    dlclose(opened.handle);
    return result;
  }
  found.vtable = vtable;
  found.method = Method::kPlugin;
  found.name = *static_cast<const char* const*>(vtable);
  return result;
}

// Loads once: neither the handle count nor the choice changes afterwards.
Plugin load_once(const std::string& name, int net_version) {
  static context::Immortal<context::ForkMutex> mutex;
  static context::Immortal<std::map<std::pair<std::string, int>, Plugin>> known;
  const std::lock_guard lock(*mutex);
  const auto [place, is_new] = known->try_emplace({name, net_version});
  if (is_new) place->second = load(name, net_version);
  return place->second;
}

Plugin plugin_for(const std::string& name, const void* caller, int net_version) {
  const Calling calling = calling_module(caller, [](const Module&) { return false; });
  if (calling.module) {
    if (const std::optional<Module> other = claim(*calling.module)) {
      return {second_nccl(*calling.module, *other, net_version)};
    }
  }
  Plugin plugin = load_once(name, net_version);
  if (calling.module) plugin.found.nccl_version = nccl_version(*calling.module);
  return plugin;
}

Found automatic(const void* caller, int net_version) {
  const Plugin plugin = plugin_for(kDefaultPlugin, caller, net_version);
  if (plugin.found || plugin.found.trouble == Trouble::kSecondNccl) return plugin.found;
  Found ib = find_ib(caller, net_version);
  if (plugin.self || plugin.found.trouble == Trouble::kPluginMissing) return ib;
  ib.note = "without this plugin NCCL would have used " + plugin.found.module +
            ", which is not wrapped: " + plugin.found.why;
  return ib;
}

Found choose(std::string_view setting, const void* caller, int net_version) {
  if (is(setting, "auto")) return automatic(caller, net_version);
  if (is(setting, "IB")) return find_ib(caller, net_version);
  if (is(setting, "Socket")) return find_socket(caller, net_version);
  return plugin_for(std::string(setting), caller, net_version).found;
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

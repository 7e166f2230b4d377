#include "inner/plugin.h"

#include <dlfcn.h>
#include <strings.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "inner/module.h"

namespace nnd::inner {
namespace {

constexpr int kNewestLookedFor = 32;  // to name what it has

// What NCCL calls a kind of plugin in the names of its files and tables.
struct PluginKind {
  const char* file;
  const char* tables;
};
constexpr PluginKind kNet{"libnccl-net-", "ncclNetPlugin_v"};
constexpr PluginKind kProfiler{"libnccl-profiler-", "ncclProfiler_v"};

// NCCL's rules (v2.28.9-1 src/plugin/plugin_open.cc): a path or lib*.so is taken as it is.
std::vector<std::string> file_names(const PluginKind& kind, const std::string& name) {
  std::vector<std::string> names{name};
  const bool library = name.starts_with("lib") && name.ends_with(".so");
  if (name.find('/') == std::string::npos && !library) names.push_back(kind.file + name + ".so");
  return names;
}

bool is_this_plugin(const Module& module) {
  const Module& own = own_module();
  return same_module(module, own) || (!own.build_id.empty() && module.build_id == own.build_id);
}

// Its file, for messages: from the loader, or the name that it was opened by.
std::string file_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map->l_name[0] != '\0') {
    return map->l_name;
  }
  return name;
}

// The loader's map of a module begins with its dynamic section; a symbol tells the module as well.
bool leads_to_us(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return false;
  const std::optional<Module> module = module_of(map->l_ld);
  return module && is_this_plugin(*module);
}

Plugin load(const PluginKind& kind, const std::string& name) {
  Plugin plugin;
  plugin.tables = kind.tables;
  if (strcasecmp(name.c_str(), "STATIC_PLUGIN") == 0) {  // linked into the main program
    plugin.handle = dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
    plugin.file = "the main program";
    return plugin;
  }
  std::string errors;
  for (const std::string& file : file_names(kind, name)) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* error = dlerror();
      errors += (errors.empty() ? "" : "; ") + std::string(error ? error : file);
      continue;
    }
    plugin.file = file_of(handle, file);
    plugin.self = leads_to_us(handle);
    if (plugin.self) {
      dlclose(handle);
      plugin.why = plugin.file + " is this plugin itself";
    } else {
      plugin.handle = handle;
    }
    return plugin;
  }
  plugin.why = "the plugin \"" + name + "\" can't be loaded: " + errors;
  return plugin;
}

}  // namespace

void* Plugin::symbol(const char* name) const {
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

const void* Plugin::table(int version) const {
  return symbol((tables + std::to_string(version)).c_str());
}

int Plugin::newest_version(int oldest, int newest) const {
  for (int version = newest; version >= oldest; --version)
    if (table(version) != nullptr) return version;
  return 0;
}

std::string Plugin::versions() const {
  std::string list;
  for (int version = kNewestLookedFor; version > 0; --version)
    if (table(version) != nullptr) list += (list.empty() ? "v" : ", v") + std::to_string(version);
  return list.empty() ? "none" : list;
}

namespace {

using KnownPlugins = std::map<std::pair<const char*, std::string>, Plugin>;

const Plugin& plugin_of(const PluginKind& kind, const std::string& name) {
  static context::Immortal<context::ForkMutex> mutex{/*held_long=*/true};
  static context::Immortal<KnownPlugins> known;
  const std::lock_guard lock(*mutex);
  const auto [place, is_new] = known->try_emplace({kind.file, name});
  if (is_new) place->second = load(kind, name);
  return place->second;
}

}  // namespace

const Plugin& net_plugin(const std::string& name) { return plugin_of(kNet, name); }
const Plugin& profiler_plugin(const std::string& name) { return plugin_of(kProfiler, name); }

bool is_own_name(const std::string& profiler) {
  for (const std::string& file : file_names(kProfiler, profiler)) {
    void* const handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    const bool own = leads_to_us(handle);
    dlclose(handle);
    return own;
  }
  return false;
}

}  // namespace nnd::inner

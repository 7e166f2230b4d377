#include "session/profilers.h"

#include <dlfcn.h>
#include <strings.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "config/nearest.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "inner/chain.h"
#include "inner/module.h"
#include "inner/plugin.h"
#include "nccl_abi/releases.h"
#include "session/complaints.h"
#include "session/default_profiler.h"

namespace nnd::session {

namespace {

constexpr const char* kVariable = "NCCL_NET_DIAG_PROFILER";

// Why the other profiler isn't called.
struct Trouble {
  context::ForkMutex lock;
  std::string text;
  bool told = false;
};
Trouble& trouble() {
  static context::Immortal<Trouble> instance;
  return *instance;
}

void note_trouble(std::string text) {
  const std::lock_guard guard(trouble().lock);
  trouble().text = std::move(text);
}

bool calls_another(const config::Settings& settings) {
  return settings.profiler != "auto" && settings.profiler != "off";
}

const void* table_of_net_plugin(int api) {
  return inner::plugin_symbol(("ncclProfiler_v" + std::to_string(api)).c_str());
}

// Where the wrapped net plugin has a profiler, NCCL finds that, as it would without us.
bool net_plugin_has_one() {
  for (int api = 1; api <= nccl_abi::kNewestProfiler; ++api)
    if (table_of_net_plugin(api) != nullptr) return true;
  return false;
}

ProfilerOffer offer_alone(int api) {
  if (net_plugin_has_one()) return {.theirs = table_of_net_plugin(api)};
  return {.own = true};
}

// NCCL asks for its own version first.
int newest_asked(int api) {
  static std::atomic<int> newest{0};
  if (newest < api) newest = api;
  return newest;
}

ProfilerOffer offer_both(const std::string& name, int api) {
  newest_asked(api);
  const inner::Plugin& plugin = inner::profiler_plugin(name);
  if (plugin.handle == nullptr) {
    note_trouble(plugin.why + "; no other profiler is called");
    return offer_alone(api);
  }
  const int version = plugin.newest_version(1, api);
  if (version == 0) {
    note_trouble(plugin.file + " has no ncclProfiler_v" + std::to_string(api) +
                 " or older, which this NCCL could take (it has " + plugin.versions() +
                 "); no other profiler is called");
    return offer_alone(api);
  }
  if (version != api) return {};
  return {.own = true, .other = plugin.table(api), .nccls_api = newest_asked(api)};
}

bool looks_here(const config::Settings& settings, int nccl_version, const inner::Module& nccl) {
  if (nccl_abi::apis_of(nccl_version).profiler == 0 || settings.disable ||
      settings.profiler == "off" || (!calls_another(settings) && net_plugin_has_one()))
    return false;
  const char* const named = std::getenv("NCCL_PROFILER_PLUGIN");
  if (named != nullptr) return strcasecmp(named, "none") != 0 && inner::is_own_name(named);
  return !default_profiler_installed(nccl) &&
         (!nccl_abi::kNeedsProfilerName.has(nccl_version) || stand_in_for_default_profiler(nccl));
}

// Not the transport alone, as a tool may call it.
bool is_nccl(const void* caller) {
  Dl_info where{};
  if (::dladdr(caller, &where) == 0) return false;
  void* const module = ::dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  const bool is = module != nullptr && ::dlsym(module, "ncclCommInitRank") != nullptr;
  if (module != nullptr) ::dlclose(module);
  return is;
}

}  // namespace

ProfilerOffer offer_profiler(const config::Settings& settings, int api) {
  if (settings.disable || settings.profiler == "off") return {.theirs = table_of_net_plugin(api)};
  return calls_another(settings) ? offer_both(settings.profiler, api) : offer_alone(api);
}

bool bring_profiler(const config::Settings& settings, int nccl_version, const void* caller) {
  if (!is_nccl(caller)) return false;
  const auto nccl = inner::module_of(caller);
  return nccl && looks_here(settings, nccl_version, *nccl);
}

bool lacks_profiler(const config::Settings& settings, int nccl_version) {
  if (nccl_abi::apis_of(nccl_version).profiler == 0 || settings.profiler == "off") return false;
  const bool unnamed = std::getenv("NCCL_PROFILER_PLUGIN") == nullptr;
  return calls_another(settings) || (unnamed && nccl_abi::kNeedsProfilerName.has(nccl_version));
}

void tell_other_profiler(const config::Settings& settings) {
  Trouble& its = trouble();
  std::string text;
  {
    const std::lock_guard guard(its.lock);
    if (its.text.empty() || std::exchange(its.told, true)) return;
    text = its.text;
  }
  tell_complaint(
      {kVariable, settings.profiler, text, config::nearest(settings.profiler, {"auto", "off"})});
}

void tell_other_failed(const config::Settings& settings, nccl_abi::Result rc) {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  tell_complaint({kVariable,
                  settings.profiler,
                  "its init failed with error " + std::to_string(static_cast<int>(rc)) +
                      "; it isn't called for this communicator",
                  {}});
}

}  // namespace nnd::session

#include "verbs/install.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "context/fork_mutex.h"
#include "context/quiet.h"
#include "diagnosis/own.h"
#include "inner/find.h"
#include "inner/module.h"
#include "inner/slots.h"
#include "record/event.h"
#include "verbs/devices.h"
#include "verbs/library.h"
#include "verbs/lookup.h"
#include "verbs/qp_retries.h"

namespace nnd::verbs {
namespace {

context::ForkMutex g_install_mutex;
std::atomic<bool> g_installed{false};

// The functions of a directly linked libibverbs, found as the loader binds them: first in the
// global scope, then in the image's own.
class LinkedVerbs {
 public:
  explicit LinkedVerbs(const std::string& module)
      : own_(::dlopen(module == "/proc/self/exe" ? nullptr : module.c_str(),
                      RTLD_LAZY | RTLD_NOLOAD)) {}
  ~LinkedVerbs() {
    if (own_ != nullptr) ::dlclose(own_);
  }
  LinkedVerbs(const LinkedVerbs&) = delete;
  LinkedVerbs& operator=(const LinkedVerbs&) = delete;

  void* wrapper(const inner::Import& import) const {
    const std::string symbol(import.symbol);
    const char* node = node_of(symbol.c_str());
    if (node == nullptr || import.node != node) return nullptr;
    void* handle = RTLD_DEFAULT;
    void* real = ::dlvsym(handle, symbol.c_str(), node);
    if (real == nullptr && own_ != nullptr) {
      handle = own_;
      real = ::dlvsym(handle, symbol.c_str(), node);
    }
    return real == nullptr ? nullptr : wrap(handle, symbol.c_str(), real, Origin::kLinked).wrapper;
  }

 private:
  void* own_;
};

// NCCL_NET_DIAG_VERBS_LIB, tried once per name.
void forward_once(const std::string& library) {
  static std::string tried;
  if (library.empty() || tried == library) return;
  tried = library;
  const std::string error = forward_to(library);
  if (error.empty()) return;
  record::Event event(record::EventId::kEnvLint, record::Severity::kWarn);
  event.add("variable", "NCCL_NET_DIAG_VERBS_LIB").add("value", library);
  event.diagnose(diagnose(diagnosis::VerbsLibraryNotOpened{error}));
  event.emit();
}

InstallResult install_locked(const void* address, const config::Settings& settings) {
  InstallResult result;
  const auto module = inner::module_of(address);
  if (!module) {
    result.problem = "no loaded module contains NCCL's address";
    return result;
  }
  result.module = module->path;
  forward_once(settings.verbs_lib);
  const LinkedVerbs linked(module->path);
  std::size_t lookups = 0;
  const inner::SlotResult slots =
      inner::redirect(*module, [&](const inner::Import& import) -> void* {
        if (import.symbol == "dlvsym") {
          ++lookups;
          return lookup_dlvsym();
        }
        if (import.symbol == "dlsym") return lookup_dlsym();
        void* wrapper = linked.wrapper(import);
        if (wrapper != nullptr) result.linked = true;
        return wrapper;
      });
  ::dlerror();  // ours, not NCCL's
  result.slots = slots.slots;
  result.ok = slots.error.empty() && (lookups > 0 || result.linked);
  // Of the first NCCL in the process: a second one is not wrapped.
  if (!g_installed.load(std::memory_order_relaxed)) set_nccl_version(inner::nccl_version(*module));
  if (result.ok) g_installed.store(true, std::memory_order_relaxed);
  if (!slots.error.empty())
    result.problem = "the import slots of NCCL could not be written (" + slots.error + ")";
  else if (!result.ok)
    result.problem = "NCCL has no import slot for dlvsym or ibv_*";
  if (!result.problem.empty())
    // NCCL 2.30.3 and newer also take a verbs library by name, NCCL_IBVERBS_LIB (v2.30.7-1
    // src/misc/ibvsymbols.cc). Setting it here is no way out: by now the process has threads, and
    // setenv beside their getenv can crash it (glibc before 2.41); a child that is started
    // meanwhile would inherit it, without us; the library named there would have to find by itself
    // the libibverbs that NCCL finds by its own RPATH; and libmlx5 has no such variable. The user
    // may set it to any library: the slots lead here whatever its name is.
    result.problem += "; QPs, completions and port events are not seen";
  return result;
}

}  // namespace

InstallResult install(const void* nccl_address, const config::Settings& settings) noexcept {
  InstallResult result;
  context::quietly([&] {
    const std::lock_guard lock(g_install_mutex);
    result = install_locked(nccl_address, settings);
  });
  return result;
}

State state() noexcept {
  return {g_installed.load(std::memory_order_relaxed), lookup_seen() || device_list_seen(),
          lookup_overflow()};
}

}  // namespace nnd::verbs

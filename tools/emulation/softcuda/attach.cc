#include "attach.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "api.h"
#include "cuda_abi.h"
#include "elf/symbols.h"
#include "jump.h"
#include "log.h"
#include "stubs.h"
#include "unplayed.h"

namespace softcuda {
namespace {

std::map<const link_map*, std::unique_ptr<Module>>& modules() {
  static auto& all = *new std::map<const link_map*, std::unique_ptr<Module>>;
  return all;
}

int answer_unknown(const char* name) {
  note_unplayed(name);
  return kNotSupported;
}

// Their names, for as long as NCCL may call them.
std::deque<std::string>& unplayed() {
  static auto& names = *new std::deque<std::string>;
  return names;
}

// cudaMalloc, but not cudart::... nor cuda_helper.
bool is_runtime_entry(std::string_view name) {
  return name.size() > 4 && name.starts_with("cuda") && name[4] >= 'A' && name[4] <= 'Z';
}

struct Patch {
  void* at;
  const void* target;
};

// What to write where, all of it known before anything is written.
std::string plan_patches(std::uintptr_t base, const nnd::elf::SymbolTable& table,
                         std::vector<Patch>& patches) {
  for (const nnd::elf::Symbol& symbol : table.symbols) {
    if (!symbol.is_function || !is_runtime_entry(symbol.name)) continue;
    void* at = reinterpret_cast<void*>(base + symbol.value);
    if (symbol.bytes < kJumpBytes) {
      if (find_api(symbol.name) != nullptr && !only_returns_a_number(at, symbol.bytes))
        return fmt::format("{} is too short ({} bytes) for a jump", symbol.name, symbol.bytes);
      continue;
    }
    const void* target = find_api(symbol.name);
    if (target == nullptr)
      target = make_thunk(unplayed().emplace_back(symbol.name).c_str(), answer_unknown);
    if (target == nullptr) return "no memory for a thunk";
    patches.push_back({at, target});
  }
  constexpr std::size_t kFewest = 100;  // 379 to 421 in the official builds
  if (patches.size() < kFewest)
    return fmt::format(
        "only {} entry points of the CUDA runtime are named in it: a build with a shared runtime?",
        patches.size());
  return {};
}

int version_of(void* handle) {
  auto* get_version = reinterpret_cast<int (*)(int*)>(dlsym(handle, "ncclGetVersion"));
  int version = 0;
  return get_version != nullptr && get_version(&version) == 0 ? version : 0;
}

}  // namespace

std::string attach(void* handle, const std::string& symbols) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return "not a handle of dlopen's";
  if (modules().count(map) != 0) return {};
  const std::string path = map->l_name;
  const int version = version_of(handle);
  if (version == 0) return fmt::format("{} has no ncclGetVersion: not a libnccl", path);
  if (!symbols.empty() && !nnd::elf::same_build(path, symbols))
    return fmt::format("{} is not the same build as {}: its symbols don't fit", symbols, path);
  const std::string& file = symbols.empty() ? path : symbols;
  const nnd::elf::SymbolTable table = nnd::elf::read_symbols(file);
  if (!table.error.empty()) return table.error;
  auto made = Module::make(path, file, version, map->l_addr, table);
  if (made.module == nullptr) return made.error;
  std::vector<Patch> patches;
  if (std::string error = plan_patches(map->l_addr, table, patches); !error.empty())
    return fmt::format("{}: {}", path, error);
  if (std::string error = load_stubs(); !error.empty()) return error;
  for (const Patch& patch : patches)
    if (std::string error = put_jump(patch.at, patch.target); !error.empty())
      return fmt::format("{}: {}", path, error);
  modules()[map] = std::move(made.module);
  log("attached to {}: NCCL {}, {} entry points of the CUDA runtime replaced", path, version,
      patches.size());
  return {};
}

const Module* module_of(const void* kernel_stub) {
  for (const auto& [map, module] : modules())
    if (module->kernel_name(kernel_stub) != nullptr) return module.get();
  return nullptr;
}

}  // namespace softcuda

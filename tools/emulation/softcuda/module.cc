#include "module.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "debug_layout.h"

namespace softcuda {
namespace {

std::string version_text(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

bool is_kernel(std::string_view name) {
  return (name.find("ncclDevKernel_") != std::string_view::npos ||
          name.find("ncclKernel_") != std::string_view::npos) &&
         name.find("__device_stub__") == std::string_view::npos;
}

// From 2.19 the host has a shadow of the device's table of functions: addresses of host stubs that
// bear the names.
std::vector<std::string> read_function_table(std::uintptr_t base,
                                             const nnd::elf::SymbolTable& table) {
  const auto shadow =
      std::find_if(table.symbols.begin(), table.symbols.end(), [](const nnd::elf::Symbol& symbol) {
        return !symbol.is_function && symbol.name == "ncclDevFuncTable";
      });
  if (shadow == table.symbols.end()) return {};
  std::map<std::uintptr_t, std::string_view> stubs;
  for (const nnd::elf::Symbol& symbol : table.symbols)
    if (symbol.is_function && symbol.name.find("ncclDevFunc_") != std::string::npos)
      stubs[base + symbol.value] = symbol.name;
  const auto* entries = reinterpret_cast<const std::uintptr_t*>(base + shadow->value);
  std::vector<std::string> names(shadow->bytes / sizeof(*entries));
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto stub = stubs.find(entries[i]); stub != stubs.end()) names[i] = stub->second;
  return names;
}

}  // namespace

Module::Made Module::make(std::string path, const std::string& symbols, int nccl_version,
                          std::uintptr_t base, const nnd::elf::SymbolTable& table) {
  std::unique_ptr<Module> module(new Module);
  module->path_ = std::move(path);
  module->version_ = nccl_version;
  auto read = read_debug_layout(symbols, nccl_version);
  if (!read.error.empty())
    return {nullptr,
            fmt::format("softcuda doesn't play NCCL {}: {}; take a release up to {}",
                        version_text(nccl_version), read.error, version_text(newest_layout()))};
  if (const Layout* known = find_layout(nccl_version); !read.layout && known != nullptr)
    read.layout = *known;
  if (!read.layout)
    return {nullptr, fmt::format("{} has no debug information, without which softcuda knows some "
                                 "releases from {} to {} but not {}: take the official library, or "
                                 "give it beside this one for its symbols",
                                 symbols, version_text(oldest_layout()),
                                 version_text(newest_layout()), version_text(nccl_version))};
  module->layout_ = *read.layout;
  for (const nnd::elf::Symbol& symbol : table.symbols)
    if (symbol.is_function && is_kernel(symbol.name))
      module->kernels_[base + symbol.value] = symbol.name;
  if (module->kernels_.empty())
    return {nullptr, fmt::format("{} names no NCCL kernel in its symbol table", module->path_)};
  constexpr int kFirstWithTable = 21900;
  if (nccl_version >= kFirstWithTable) {
    module->functions_ = read_function_table(base, table);
    const bool complete = std::any_of(
        module->functions_.begin(), module->functions_.end(),
        [](const std::string& name) { return parse_device_function(name).has_value(); });
    if (!complete)
      return {nullptr,
              fmt::format("{}: the table of device functions (ncclDevFuncTable) isn't as known",
                          module->path_)};
  }
  return {std::move(module), {}};
}

const std::string* Module::kernel_name(const void* stub) const {
  const auto found = kernels_.find(reinterpret_cast<std::uintptr_t>(stub));
  return found == kernels_.end() ? nullptr : &found->second;
}

std::optional<Function> Module::function(unsigned id) const {
  if (functions_.empty()) return decode_function_index(id);
  return id < functions_.size() ? parse_device_function(functions_[id]) : std::nullopt;
}

std::string Module::function_name(unsigned id) const {
  if (id < functions_.size() && !functions_[id].empty()) return functions_[id];
  return fmt::format("function {}", id);
}

}  // namespace softcuda

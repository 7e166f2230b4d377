#include "inner/nccl.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "inner/elf_file.h"
#include "inner/memory.h"
#include "nccl_abi/common.h"
#include "nccl_abi/releases.h"

namespace nnd::inner {
namespace {

constexpr std::string_view kPluginSymbol = "ncclNetPlugin_v";

// The highest N of the names ncclNetPlugin_vN in a block of read-only data; 0 for none, and for a
// name that is put together at run time (no digit follows).
int highest_plugin_version(std::uintptr_t begin, std::uintptr_t end) {
  int highest = 0;
  for (std::uintptr_t at = find_text(begin, end, kPluginSymbol); at != end;
       at = find_text(at, end, kPluginSymbol)) {
    at += kPluginSymbol.size();
    int version = 0;
    for (; at < end && byte_at(at) >= '0' && byte_at(at) <= '9' && version < 1000; ++at) {
      version = version * 10 + (byte_at(at) - '0');
    }
    if (version == 0) return 0;
    highest = std::max(highest, version);
  }
  return highest;
}

std::string list(const std::vector<Module>& modules) {
  std::string text;
  for (const Module& m : modules) text += (text.empty() ? "" : ", ") + m.path;
  return text;
}

}  // namespace

bool looks_like_nccl(const Module& module) {
  return exported_symbol(module, "ncclGetVersion") != nullptr;
}

std::string version_text(int code) {
  if (code == 0) return "(version not known)";
  return std::to_string(code / 10000) + '.' + std::to_string(code / 100 % 100) + '.' +
         std::to_string(code % 100);
}

int nccl_version(const Module& module) {
  const void* symbol = exported_symbol(module, "ncclGetVersion");
  if (symbol == nullptr) return 0;
  const auto get = reinterpret_cast<nccl_abi::Result (*)(int*)>(const_cast<void*>(symbol));
  int code = 0;
  return get(&code) == nccl_abi::Result::kSuccess ? code : 0;
}

int own_net_version(const Module& module, int nccl_code) {
  if (const int known = nccl_abi::net_version_of(nccl_code)) return known;
  std::string why;
  const std::optional<ElfFile> file = ElfFile::open(module, &why);
  if (!file || !file->differs_from(module).empty()) return 0;
  const std::optional<Segment> data = file->section(".rodata");
  if (!data || !module.covers(module.base + data->begin, data->end - data->begin)) return 0;
  return highest_plugin_version(module.base + data->begin, module.base + data->end);
}

Calling calling_module(const void* caller, const std::function<bool(const Module&)>& holds) {
  std::optional<Module> own = module_of(caller);
  if (own && same_module(*own, own_module())) own.reset();
  if (own && (looks_like_nccl(*own) || holds(*own))) return {own, Trouble::kNone, {}};

  std::vector<Module> others = all_modules();
  std::erase_if(others, [&](const Module& m) {
    return same_module(m, own_module()) || (own && same_module(m, *own));
  });
  std::vector<Module> found;
  std::copy_if(others.begin(), others.end(), std::back_inserter(found), looks_like_nccl);
  if (found.empty()) std::copy_if(others.begin(), others.end(), std::back_inserter(found), holds);
  if (found.empty()) {
    return {std::nullopt, Trouble::kNoNccl, "no NCCL is loaded in this process"};
  }
  if (found.size() > 1) {
    return {std::nullopt, Trouble::kSeveralNccls,
            "the plugin was called by no NCCL, and which of those loaded is meant can't be told: " +
                list(found)};
  }
  return {std::move(found.front()), Trouble::kNone, {}};
}

}  // namespace nnd::inner

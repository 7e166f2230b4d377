#include "driver/library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "driver/error.h"
#include "elf/symbols.h"
#include "nccl_abi/releases.h"

namespace nnd::driver {

namespace {

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return "";
  return map->l_name;
}

// The names that NCCL tries for a plugin, in its order (v2.28.9-1 src/plugin/plugin_open.cc).
std::vector<std::string> plugin_names(const std::string& name) {
  if (name.empty()) return {"libnccl-net.so"};
  std::vector<std::string> out{name};
  const bool is_path = name.find('/') != std::string::npos;
  const bool is_library = name.starts_with("lib") && name.ends_with(".so");
  if (!is_path && !is_library) out.push_back("libnccl-net-" + name + ".so");
  return out;
}

}  // namespace

NcclLibrary::NcclLibrary(const std::string& file, std::string symbols)
    : symbols_(std::move(symbols)) {
  handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw Error("cannot load libnccl: " + std::string(dlerror()));
  path_ = path_of(handle_);
  if (symbols_.empty()) symbols_ = path_;
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(handle_, "ncclGetVersion"));
  if (get_version == nullptr || get_version(&version_code_) != 0)
    throw Error(path_ + " is no libnccl: it has no ncclGetVersion");
}

std::string NcclLibrary::version() const {
  return std::to_string(version_code_ / 10000) + "." + std::to_string(version_code_ / 100 % 100) +
         "." + std::to_string(version_code_ % 100);
}

int NcclLibrary::net_version() const {
  const int known = nccl_abi::net_version_of(version_code_);
  if (known == 0) throw Error("NCCL " + version() + " is not known here: its net API may be any");
  return known;
}

Caller NcclLibrary::caller() const {
  return Caller::in_module_of(dlsym(handle_, "ncclGetVersion"));
}

const void* NcclLibrary::local_symbol(const std::string& name) const {
  const elf::SymbolTable table = elf::read_symbols(symbols_);
  if (!table.error.empty()) throw Error(table.error);
  const auto value = table.find(name);
  if (!value) throw Error(symbols_ + " has no symbol " + name);
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) throw Error("no link map of " + path_);
  return reinterpret_cast<const void*>(map->l_addr + *value);
}

std::unique_ptr<NetApi> NcclLibrary::builtin(const std::string& name) const {
  return make_net_api(net_version(), local_symbol(name == "IB" ? "ncclNetIb" : "ncclNet" + name),
                      caller());
}

void NcclLibrary::pretend_cuda_device() const {
  // int cudaGetDevice(int* device) { *device = 0; return 0; }
#if defined(__x86_64__)
  constexpr unsigned char kCode[] = {0xc7, 0x07, 0, 0, 0, 0, 0x31, 0xc0, 0xc3};
#elif defined(__aarch64__)
  constexpr unsigned char kCode[] = {0x1f, 0, 0, 0xb9, 0, 0, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};
#endif
  auto* const code = static_cast<char*>(const_cast<void*>(local_symbol("cudaGetDevice")));
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<std::uintptr_t>(code) / page * page;
  const auto size = reinterpret_cast<std::uintptr_t>(code) + sizeof kCode - from;
  if (mprotect(reinterpret_cast<void*>(from), size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    throw Error("cannot write to the loaded copy of " + path_);
  std::memcpy(code, kCode, sizeof kCode);
  mprotect(reinterpret_cast<void*>(from), size, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(code, code + sizeof kCode);
}

Plugin::Plugin(const std::string& name, const NcclLibrary& nccl) {
  std::string tried;
  for (const auto& candidate : plugin_names(name)) {
    handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) break;
    tried += std::string(tried.empty() ? "" : "; ") + dlerror();
  }
  if (handle_ == nullptr) throw Error("cannot load net plugin '" + name + "': " + tried);
  path_ = path_of(handle_);
  for (int version = nccl.net_version(); version >= nccl_abi::kOldestNet && net_ == nullptr;
       --version) {
    const auto symbol = "ncclNetPlugin_v" + std::to_string(version);
    if (const void* table = dlsym(handle_, symbol.c_str()); table != nullptr)
      net_ = make_net_api(version, table, nccl.caller());
  }
  if (net_ == nullptr) {
    dlclose(handle_);
    throw Error(path_ + " has no net API that NCCL " + nccl.version() + " knows (v" +
                std::to_string(nccl.net_version()) + " and older)");
  }
}

Plugin::~Plugin() { dlclose(handle_); }

}  // namespace nnd::driver

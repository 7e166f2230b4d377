// Our functions by the name that NCCL knows them by: runtime and driver entry points. Each topic
// has its own table.
#pragma once

#include <string_view>
#include <vector>

namespace softcuda {

struct ApiEntry {
  std::string_view name;
  const void* function;
};

std::vector<ApiEntry> device_api();
std::vector<ApiEntry> memory_api();
std::vector<ApiEntry> peer_memory_api();
std::vector<ApiEntry> virtual_memory_api();
std::vector<ApiEntry> stream_api();
std::vector<ApiEntry> launch_api();
std::vector<ApiEntry> driver_lookup_api();

// Null when there is none of this name.
const void* find_api(std::string_view name);

template <typename R, typename... Args>
ApiEntry api_entry(std::string_view name, R (*function)(Args...)) {
  return {name, reinterpret_cast<const void*>(function)};
}

}  // namespace softcuda

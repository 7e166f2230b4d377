#include "api.h"

#include <map>

namespace softcuda {

const void* find_api(std::string_view name) {
  static const auto& all = *[] {
    auto* table = new std::map<std::string_view, const void*>;
    for (const auto& part : {device_api(), memory_api(), peer_memory_api(), virtual_memory_api(),
                             stream_api(), launch_api(), driver_lookup_api()})
      for (const ApiEntry& entry : part) table->emplace(entry.name, entry.function);
    return table;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace softcuda

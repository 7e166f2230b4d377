#include "program_kernels.h"

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api_launch.h"
#include "kernels/kernel_name.h"
#include "kernels/played.h"
#include "refusal.h"
#include "stream.h"
#include "unplayed.h"

namespace softcuda {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::pair<const void*, const char*>> added;  // and not looked at yet
  std::unordered_map<const void*, const char*> names;
};

Registry& registry() {
  static auto& all = *new Registry;  // outlives every stream thread
  return all;
}

const char* name_of_kernel(const void* host_stub) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& [stub, name] : all.added) all.names.emplace(stub, name);
  all.added.clear();
  const auto found = all.names.find(host_stub);
  return found == all.names.end() ? nullptr : found->second;
}

int launch_program_kernel(const void* host_stub, Dim3 grid, void* stream, void** parameters) {
  const char* name = name_of_kernel(host_stub);
  if (name == nullptr) {
    note_unplayed("a kernel that was never registered");
    return kInvalidDeviceFunction;
  }
  const TemplateName kernel = parse_kernel_name(name);
  const KernelLaunch launch{grid, parameters};
  for (const auto read : {elementwise_work, reduction_work, joining_work, list_work, chunk_work})
    if (KernelWork work = read(kernel, launch)) return enqueue(stream, std::move(work));
  note_unplayed(name);
  keep_refusal(refusal_sentence(name));
  return kNotSupported;
}

}  // namespace

void register_kernel(const void* host_stub, const char* name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.added.empty()) launch_others_with(launch_program_kernel);
  all.added.emplace_back(host_stub, name);
}

}  // namespace softcuda

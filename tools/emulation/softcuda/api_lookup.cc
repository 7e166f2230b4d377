// How NCCL finds driver functions: cudaGetDriverEntryPoint, and up to 2.20 cuGetProcAddress of
// libcuda.so.
#include "api.h"
#include "cuda_abi.h"
#include "unplayed.h"

namespace softcuda {
namespace {

// status: 0 found, 1 not found (cudaDriverEntryPointQueryResult); older callers pass none.
int find_driver_function(const char* name, void** function, int* status) {
  *function = const_cast<void*>(find_api(name));
  if (*function == nullptr) note_unplayed(name);
  if (status != nullptr) *status = *function == nullptr ? 1 : 0;
  return *function != nullptr || status != nullptr ? kSuccess : kNotFound;
}

int driver_entry_point(const char* name, void** function, unsigned long long /*flags*/,
                       int* status) {
  return find_driver_function(name, function, status);
}
int driver_entry_point_by_version(const char* name, void** function, unsigned /*version*/,
                                  unsigned long long /*flags*/, int* status) {
  return find_driver_function(name, function, status);
}
int get_proc_address(const char* name, void** function, int /*version*/,
                     unsigned long long /*flags*/) {
  return find_driver_function(name, function, nullptr);
}

}  // namespace

std::vector<ApiEntry> driver_lookup_api() {
  return {
      api_entry("cudaGetDriverEntryPoint", driver_entry_point),
      api_entry("cudaGetDriverEntryPointByVersion", driver_entry_point_by_version),
      api_entry("cuGetProcAddress", get_proc_address),
  };
}

}  // namespace softcuda

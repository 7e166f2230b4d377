// libnvidia-ml.so.1 as far as NCCL needs it: one handle per GPU of softcuda's list, NVLinks to a
// switch where the list says so, no fabric, no confidential computing. What isn't here NCCL takes
// as missing.
#include <cstdio>
#include <cstring>

#include "nvml_abi.h"
#include "stub_abi.h"

namespace {

using softcuda::StubGpus;
using namespace softcuda::nvml;

constexpr unsigned kNvLinks = 18;                                    // of an H100
constexpr unsigned kPciId = 0x233010de, kPciSubsystem = 0x16c110de;  // an H100's

StubGpus list{};

bool has_link(unsigned link) { return list.nvswitch && link < kNvLinks; }

// A handle is the index plus one.
const softcuda::StubGpu* gpu_of(const void* handle) {
  const auto index = reinterpret_cast<std::size_t>(handle) - 1;
  return index < list.count ? &list.gpus[index] : nullptr;
}

}  // namespace

#define NVML extern "C" __attribute__((visibility("default")))

NVML void softcuda_set_gpus(const StubGpus* gpus) { list = *gpus; }

NVML int nvmlInit() { return kSuccess; }
NVML int nvmlInit_v2() { return kSuccess; }
NVML int nvmlShutdown() { return kSuccess; }
NVML const char* nvmlErrorString(int /*error*/) { return "softcuda's NVML doesn't have this"; }

NVML int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(list.count);
  return kSuccess;
}
NVML int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

NVML int nvmlDeviceGetHandleByIndex(unsigned index, void** handle) {
  if (index >= list.count) return kInvalidArgument;
  *handle = reinterpret_cast<void*>(std::size_t{index} + 1);
  return kSuccess;
}

NVML int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  return nvmlDeviceGetHandleByIndex(index, handle);
}

NVML int nvmlDeviceGetHandleByPciBusId(const char* text, void** handle) {
  for (unsigned i = 0; i < list.count; ++i) {
    char own[32];
    const softcuda::StubGpu& gpu = list.gpus[i];
    std::snprintf(own, sizeof own, "%04x:%02x:%02x.%x", gpu.domain, gpu.bus, gpu.device,
                  gpu.function);
    if (std::strcmp(own, text) == 0) return nvmlDeviceGetHandleByIndex(i, handle);
  }
  return kNotFound;
}

NVML int nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** handle) {
  return nvmlDeviceGetHandleByPciBusId(text, handle);
}

NVML int nvmlDeviceGetIndex(void* handle, unsigned* index) {
  if (gpu_of(handle) == nullptr) return kInvalidArgument;
  *index = static_cast<unsigned>(reinterpret_cast<std::size_t>(handle)) - 1;
  return kSuccess;
}

NVML int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  if (gpu_of(handle) == nullptr) return kInvalidArgument;
  *major = list.compute_major;
  *minor = list.compute_minor;
  return kSuccess;
}

NVML int nvmlDeviceGetP2PStatus(void* /*from*/, void* /*to*/, int /*index*/, int* status) {
  *status = list.nvswitch ? kP2pOk : kP2pChipsetNotSupported;
  return kSuccess;
}

NVML int nvmlDeviceGetNvLinkState(void* /*handle*/, unsigned link, int* active) {
  if (!has_link(link)) return kNotSupported;
  *active = 1;
  return kSuccess;
}
// What isn't on the PCI bus, as the switch in a virtual machine, is one for NCCL.
NVML int nvmlDeviceGetNvLinkRemotePciInfo(void* /*handle*/, unsigned link, PciInfo* info) {
  if (!has_link(link)) return kNotSupported;
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->legacy_id, sizeof info->legacy_id, "FFFFFFF:FFFF:FF");
  return kSuccess;
}
NVML int nvmlDeviceGetNvLinkCapability(void* /*handle*/, unsigned link, int /*what*/,
                                       unsigned* result) {
  if (!has_link(link)) return kNotSupported;
  *result = 1;
  return kSuccess;
}
NVML int nvmlDeviceGetFieldValues(void* /*handle*/, int count, FieldValue* values) {
  for (FieldValue* each = values; each != values + count; ++each) {
    const bool known = each->field == kNvLinkState && has_link(each->scope);
    each->result = known ? kSuccess : kNotSupported;
    each->value = known ? 1 : 0;
  }
  return kSuccess;
}

// From here on asked for by 2.30 and later.
NVML int nvmlDeviceGetPciInfo_v3(void* handle, PciInfo* info) {
  const auto* gpu = gpu_of(handle);
  if (gpu == nullptr) return kInvalidArgument;
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->legacy_id, sizeof info->legacy_id, "%04x:%02x:%02x.0", gpu->domain & 0xffff,
                gpu->bus & 0xff, gpu->device & 0xff);
  info->domain = gpu->domain;
  info->bus = gpu->bus;
  info->device = gpu->device;
  info->id = kPciId;
  info->subsystem = kPciSubsystem;
  return kSuccess;
}

NVML int nvmlDeviceGetPciInfoExt(void* handle, PciInfoExt* info) {
  const auto* gpu = gpu_of(handle);
  if (gpu == nullptr) return kInvalidArgument;
  info->domain = gpu->domain;
  info->bus = gpu->bus;
  info->device = gpu->device;
  info->id = kPciId;
  info->subsystem = kPciSubsystem;
  info->base_class = 3;  // display controller, 3D
  info->sub_class = 2;
  std::snprintf(info->bus_id, sizeof info->bus_id, "%08x:%02x:%02x.0", gpu->domain, gpu->bus & 0xff,
                gpu->device & 0xff);
  return kSuccess;
}

NVML int nvmlDeviceGetNvLinkRemoteDeviceType(void* /*handle*/, unsigned link, int* type) {
  if (!has_link(link)) return kNotSupported;
  *type = kNvLinkToSwitch;
  return kSuccess;
}

NVML int nvmlDeviceGetPcieLinkMaxSpeed(void* /*handle*/, unsigned* mbps) {
  *mbps = 32000;
  return kSuccess;
}
NVML int nvmlDeviceGetCurrPcieLinkGeneration(void* /*handle*/, unsigned* generation) {
  *generation = 5;
  return kSuccess;
}
NVML int nvmlDeviceGetCurrPcieLinkWidth(void* /*handle*/, unsigned* width) {
  *width = 16;
  return kSuccess;
}

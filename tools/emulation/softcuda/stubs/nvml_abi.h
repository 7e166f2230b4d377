// The few numbers and structures of NVML that NCCL uses, in our own declarations. Source: nvml.h of
// CUDA 12 and 13, with which test/abi/cuda compares all of it.
#pragma once

namespace softcuda::nvml {

enum Return : int { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6 };
enum P2pStatus : int { kP2pOk = 0, kP2pChipsetNotSupported = 1 };

inline constexpr unsigned kNvLinkState = 165;  // of a FieldValue; the scope is the link
inline constexpr int kNvLinkToSwitch = 2;      // nvmlIntNvLinkDeviceType_t

struct PciInfo {  // head of nvmlPciInfo_t, as far as NCCL declares it
  char legacy_id[16];
  unsigned domain, bus, device, id, subsystem;
};

struct PciInfoExt {  // nvmlPciInfoExt_v1_t
  unsigned version, domain, bus, device, id, subsystem, base_class, sub_class;
  char bus_id[32];
};

struct FieldValue {  // nvmlFieldValue_t
  unsigned field, scope;
  long long timestamp, latency_us;
  int value_type, result;
  unsigned long long value;
};

}  // namespace softcuda::nvml

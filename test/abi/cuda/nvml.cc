// The numbers and layouts of softcuda's NVML against the official header.
#include <nvml.h>

#include "same.h"
#include "softcuda/stubs/nvml_abi.h"

SAME(nvml::kSuccess, NVML_SUCCESS);
SAME(nvml::kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
SAME(nvml::kNotSupported, NVML_ERROR_NOT_SUPPORTED);
SAME(nvml::kNotFound, NVML_ERROR_NOT_FOUND);
SAME(nvml::kP2pOk, NVML_P2P_STATUS_OK);
SAME(nvml::kP2pChipsetNotSupported, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED);
SAME(nvml::kNvLinkState, NVML_FI_DEV_NVLINK_GET_STATE);
SAME(nvml::kNvLinkToSwitch, NVML_NVLINK_DEVICE_TYPE_SWITCH);

AT(nvml::PciInfo, legacy_id, nvmlPciInfo_t, busIdLegacy);
AT(nvml::PciInfo, domain, nvmlPciInfo_t, domain);
AT(nvml::PciInfo, bus, nvmlPciInfo_t, bus);
AT(nvml::PciInfo, device, nvmlPciInfo_t, device);
AT(nvml::PciInfo, id, nvmlPciInfo_t, pciDeviceId);
AT(nvml::PciInfo, subsystem, nvmlPciInfo_t, pciSubSystemId);

AT(nvml::PciInfoExt, version, nvmlPciInfoExt_v1_t, version);
AT(nvml::PciInfoExt, domain, nvmlPciInfoExt_v1_t, domain);
AT(nvml::PciInfoExt, bus, nvmlPciInfoExt_v1_t, bus);
AT(nvml::PciInfoExt, device, nvmlPciInfoExt_v1_t, device);
AT(nvml::PciInfoExt, id, nvmlPciInfoExt_v1_t, pciDeviceId);
AT(nvml::PciInfoExt, subsystem, nvmlPciInfoExt_v1_t, pciSubSystemId);
AT(nvml::PciInfoExt, base_class, nvmlPciInfoExt_v1_t, baseClass);
AT(nvml::PciInfoExt, sub_class, nvmlPciInfoExt_v1_t, subClass);
AT(nvml::PciInfoExt, bus_id, nvmlPciInfoExt_v1_t, busId);
static_assert(sizeof(softcuda::nvml::PciInfoExt) == sizeof(nvmlPciInfoExt_v1_t));

AT(nvml::FieldValue, field, nvmlFieldValue_t, fieldId);
AT(nvml::FieldValue, scope, nvmlFieldValue_t, scopeId);
AT(nvml::FieldValue, timestamp, nvmlFieldValue_t, timestamp);
AT(nvml::FieldValue, latency_us, nvmlFieldValue_t, latencyUsec);
AT(nvml::FieldValue, value_type, nvmlFieldValue_t, valueType);
AT(nvml::FieldValue, result, nvmlFieldValue_t, nvmlReturn);
AT(nvml::FieldValue, value, nvmlFieldValue_t, value);
static_assert(sizeof(softcuda::nvml::FieldValue) == sizeof(nvmlFieldValue_t));

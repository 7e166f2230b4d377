// One variable for each of our declarations, named after the type of NCCL that it declares: the
// debug information of this library is compared with that of an official libnccl.
#include "nccl_abi/gin_v11.h"
#include "nccl_abi/net.h"

using namespace nccl_abi;

extern "C" {
NetV6 ours_ncclNet_v6_t;
NetV7 ours_ncclNet_v7_t;
NetV8 ours_ncclNet_v8_t;
NetV9 ours_ncclNet_v9_t;
NetV10 ours_ncclNet_v10_t;
NetV11 ours_ncclNet_v11_t;
NetV12 ours_ncclNet_v12_t;

NetPropertiesV6 ours_ncclNetProperties_v6_t;
NetPropertiesV7 ours_ncclNetProperties_v7_t;
NetPropertiesV8 ours_ncclNetProperties_v8_t;
NetPropertiesV9 ours_ncclNetProperties_v9_t;
NetPropertiesV10 ours_ncclNetProperties_v10_t;
NetPropertiesV11 ours_ncclNetProperties_v11_t;
NetPropertiesV12 ours_ncclNetProperties_v12_t;

NetDeviceHandle ours_ncclNetDeviceHandle_v7_t;
NetDeviceHandle ours_ncclNetDeviceHandle_v8_t;
NetDeviceHandle ours_ncclNetDeviceHandle_v9_t;
NetDeviceHandle ours_ncclNetDeviceHandle_v10_t;
NetDeviceHandle ours_ncclNetDeviceHandle_v11_t;
NetDeviceHandle ours_ncclNetDeviceHandle_v12_t;

NetVDevicePropsV9 ours_ncclNetVDeviceProps_v9_t;
NetVDevicePropsV10 ours_ncclNetVDeviceProps_v10_t;
NetVDevicePropsV11 ours_ncclNetVDeviceProps_v11_t;
NetVDevicePropsV12 ours_ncclNetVDeviceProps_v12_t;

NetCommConfig ours_ncclNetCommConfig_v10_t;
NetCommConfig ours_ncclNetCommConfig_v11_t;
NetCommConfig ours_ncclNetCommConfig_v12_t;

NetCommAttr ours_ncclNetCommAttr_v11_t;
NetCommAttr ours_ncclNetCommAttr_v12_t;
NetAttr ours_ncclNetAttr_v11_t;
NetAttr ours_ncclNetAttr_v12_t;

GinV11 ours_ncclGin_v11_t;
}

// All versions of the profiler API at once.
#pragma once

#include "nccl_abi/profiler_v1.h"
#include "nccl_abi/profiler_v2.h"
#include "nccl_abi/profiler_v3.h"
#include "nccl_abi/profiler_v4.h"
#include "nccl_abi/profiler_v5.h"
#include "nccl_abi/profiler_v6.h"
#include "nccl_abi/profiler_v7.h"

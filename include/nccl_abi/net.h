// All versions of the net API at once.
#pragma once

#include "nccl_abi/net_v10.h"
#include "nccl_abi/net_v11.h"
#include "nccl_abi/net_v12.h"
#include "nccl_abi/net_v6.h"
#include "nccl_abi/net_v7.h"
#include "nccl_abi/net_v8.h"
#include "nccl_abi/net_v9.h"

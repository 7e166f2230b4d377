// libibverbs' and libmlx5's types, from their public headers, for use at compile time only: nothing
// here is linked. Structures are stable across rdma-core releases (IBVERBS_1.1 and later nodes).
#pragma once

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

// verbs.h turns these functions into macros around static inlines; here they name the functions of
// the table.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

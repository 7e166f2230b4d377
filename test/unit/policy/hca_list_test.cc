// What an NCCL_IB_HCA was meant to say.
#include "policy/hca_list.h"

#include "made_node.h"
#include "support/catch.h"

using nnd::policy::meant_hca_lists;
using nnd::policy::test::MadeNode;

namespace {

using Strings = std::vector<std::string>;

Strings meant(const std::string& value) {
  MadeNode made;
  made.add_rail("mlx5_1", "10.200.1.2/24");
  made.add_rail("mlx5_10", "10.200.10.2/24");
  made.add_rail("mlx5_bond_0", "10.1.0.2/24");
  made.node.filter = nnd::facts::HcaFilter::parse(&value, 23007);
  return meant_hca_lists(made.node);
}

}  // namespace

TEST_CASE("signs once and at the start") {
  CHECK(meant("mlx5_1,^mlx5_bond_0") ==
        Strings{"NCCL_IB_HCA==mlx5_1", "NCCL_IB_HCA=^=mlx5_bond_0"});
  CHECK(meant("^mlx5_1,^mlx5_bond_0") == Strings{"NCCL_IB_HCA=^=mlx5_1,mlx5_bond_0"});
  CHECK(meant("=mlx5_1,=mlx5_10") == Strings{"NCCL_IB_HCA==mlx5_1,mlx5_10"});
  CHECK(meant("=^mlx5_bond_0") == Strings{"NCCL_IB_HCA=^=mlx5_bond_0"});
  CHECK(meant("^^mlx5_bond_0") == Strings{"NCCL_IB_HCA=^=mlx5_bond_0"});
  CHECK(meant("^=mlx5_1,=mlx5_bond_0") == Strings{"NCCL_IB_HCA=^=mlx5_1,mlx5_bond_0"});
  CHECK(meant("mlx5_1,=mlx5_10,^mlx5_bond_0,^mlx5_1") ==
        Strings{"NCCL_IB_HCA==mlx5_10", "NCCL_IB_HCA=^=mlx5_bond_0,mlx5_1"});
}

TEST_CASE("a prefix stays one, and lets nothing in that is to be left out") {
  CHECK(meant("mlx5,^mlx5_bond_0") == Strings{"NCCL_IB_HCA=^=mlx5_bond_0"});
  CHECK(meant("mlx5_1,mlx5_b,^mlx5_10") == Strings{"NCCL_IB_HCA=^=mlx5_10"});
  CHECK(meant("mlx5_1,^mlx5_b") == Strings{"NCCL_IB_HCA==mlx5_1", "NCCL_IB_HCA=^mlx5_b"});
  CHECK(meant("=mlx5_1") == Strings{});
  CHECK(meant("mlx5_1") == Strings{"NCCL_IB_HCA==mlx5_1"});
  CHECK(meant("^mlx5_1") == Strings{"NCCL_IB_HCA=^=mlx5_1"});
  CHECK(meant("mlx5_1,mlx5_b") == Strings{});
}

TEST_CASE("where the list does not tell, nothing is proposed") {
  CHECK(meant("mlx5_1,^").empty());
  CHECK(meant("mlx5_1,^mlx4_0").empty());
  CHECK(meant("mlx5_1:1,^mlx5_bond_0").empty());
  CHECK(meant("mlx5_1::2,^mlx5_bond_0").empty());
}

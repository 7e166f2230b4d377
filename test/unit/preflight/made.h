// Nodes as check --json says them, made for a test.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace nnd::preflight_test {

// An HCA with the address 10.200.<rail>.<node>.
inline nlohmann::json hca(int rail, int node) {
  return {{"name", fmt::format("mlx5_{}", rail)},
          {"port", 1},
          {"netdev", fmt::format("ens{}np0", rail)},
          {"link_layer", "Ethernet"},
          {"state", "ACTIVE"},
          {"verdict", "taken"},
          {"reasons", nlohmann::json::array()},
          {"mtu", 4096},
          {"speed_mbps", 400000},
          {"firmware", "28.40.1000"},
          {"gdr", {{"way", "dmabuf"}}},
          {"pcie", {{"gts", 32.0}, {"width", 16}}},
          {"pick",
           {{"index", 3},
            {"type", "RoCE v2"},
            {"gid", fmt::format("::ffff:10.200.{}.{}", rail, node)},
            {"subnet", fmt::format("10.200.{}.0/24", rail)}}}};
}

inline nlohmann::json check(int node, int rails = 2) {
  nlohmann::json hcas = nlohmann::json::array();
  for (int rail = 0; rail < rails; ++rail) hcas.push_back(hca(rail, node));
  return {{"host", fmt::format("node{}", node)},
          {"hcas", hcas},
          {"verdicts", nlohmann::json::array()},
          {"system", {{"kernel", "5.15.0"}, {"gpus", 8}}},
          {"gpudirect", {{"gpu_driver", "550.90.07"}}},
          {"limits", {{"memlock", nullptr}}},
          {"policy", {{"mode", "warn"}}},
          {"variables", {{"NCCL_IB_TC", "106"}}},
          {"proposal", {"export NCCL_NET_PLUGIN=diag", "export NCCL_IB_HCA==mlx5_0,mlx5_1"}},
          {"result", {{"broken", nlohmann::json::array()}}}};
}

}  // namespace nnd::preflight_test

// Connections and communicators of a black box, for people and for programs. Texts are as the box
// has them: see printable.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "nccl_net_diag/black_box.h"

namespace nnd::cli {

std::string device_of(const nccl_net_diag::box::ConnSlot& slot);  // "mlx5_0:1"; a dash: not known
std::string qps_of(const nccl_net_diag::box::ConnSlot& slot);     // "21-34 22-35"; likewise
std::string task_of(const nccl_net_diag::box::CommTask& task);    // "AllReduce #12"; likewise
std::string bytes_of(const nccl_net_diag::box::CommTask& task);   // "4000"; likewise

nlohmann::json to_json(const nccl_net_diag::box::FileHeader& header,
                       const nccl_net_diag::box::ConnSlot& slot);
nlohmann::json to_json(const nccl_net_diag::box::FileHeader& header,
                       const nccl_net_diag::box::CommSlot& slot);
// "awaited", where it is known.
void add_awaited(nlohmann::json& to, const nccl_net_diag::box::FileHeader& header);
// "latecomer", likewise.
void add_latecomer(nlohmann::json& to, const nccl_net_diag::box::LatecomerSlot& slot);

}  // namespace nnd::cli

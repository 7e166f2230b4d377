// The statuses of completions by their names, as the log writes them.
#pragma once

#include <span>
#include <string_view>

namespace nnd::diagnosis {

// enum ibv_wc_status without IBV_WC_, by its numbers: "SUCCESS", "LOC_LEN_ERR" ...
std::span<const std::string_view> completion_statuses() noexcept;
std::string_view completion_status_name(int status) noexcept;  // "RETRY_EXC_ERR"; else "UNKNOWN"

}  // namespace nnd::diagnosis

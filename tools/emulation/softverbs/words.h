// Words of a scenario for numbers that verbs and the kernel know.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace softverbs {

using Words = std::vector<std::pair<std::string, int>>;

const Words& errno_words();   // "ETIMEDOUT" …, as this machine numbers them
const Words& status_words();  // "RETRY_EXC_ERR" …: enum ibv_wc_status without IBV_WC_
const Words& event_words();   // "PORT_ERR" …: enum ibv_event_type without IBV_EVENT_

}  // namespace softverbs

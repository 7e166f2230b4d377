// What a job says of itself when NCCL's RAS is asked (2.24 and newer), as NVIDIA's ncclras asks it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace nnd::scoreboard {

// An address of the loopback network that only this process's jobs have, so that those of others
// don't answer in their place; NCCL_RAS_ADDR wants it with its port.
std::string ras_host();
constexpr int kRasPort = 28028;

// The answer to these lines ("verbose status\n"), or as much of it as came in time.
std::string ask_ras(const std::string& host, std::string_view lines,
                    std::chrono::milliseconds patience);

// Of an answer: "healthy", or its first finding ("ERROR: Asynchronous error on 1 rank; ..."). Of
// one that isn't whole: "no answer".
std::string ras_says(const std::string& answer);

}  // namespace nnd::scoreboard

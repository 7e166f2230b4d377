// What isn't played: a launch of it fails, and NCCL says no more than "unhandled cuda error".
#pragma once

#include <string>

namespace softcuda {

// what: a device function by NCCL's name for it, or words. Names the variable that keeps NCCL from
// it, where there is one.
std::string refusal_sentence(const std::string& what);

// This process's last one, for its user; empty when there was none. Thread-safe.
void keep_refusal(std::string sentence);
std::string last_refusal();
// The same for who keeps the pointer: valid until the process ends, null when there was none.
const char* refusal_text();

}  // namespace softcuda

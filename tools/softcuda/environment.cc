#include "environment.h"

#include <cstdlib>

namespace softcuda {

std::vector<std::pair<std::string, std::string>> required_environment() {
  return {{"NCCL_PROTO", "Simple"}, {"NCCL_ALGO", "Ring"}, {"NCCL_P2P_LL_THRESHOLD", "0"}};
}

void set_required_environment() {
  for (const auto& [name, value] : required_environment()) setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace softcuda

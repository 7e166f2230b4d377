#include "environment.h"

namespace softcuda {

std::vector<std::pair<std::string, std::string>> required_environment() {
  return {{"NCCL_PROTO", "Simple"}, {"NCCL_ALGO", "Ring"}, {"NCCL_P2P_LL_THRESHOLD", "0"}};
}

}  // namespace softcuda

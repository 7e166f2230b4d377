#include "environment.h"

namespace softcuda {

std::vector<std::pair<std::string, std::string>> required_environment() {
  return {{"NCCL_PAT_ENABLE", "0"}};
}

}  // namespace softcuda

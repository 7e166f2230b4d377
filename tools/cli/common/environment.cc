#include "cli/common/environment.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace nnd::cli {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace nnd::cli

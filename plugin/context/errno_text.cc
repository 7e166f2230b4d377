#include "context/errno_text.h"

#include <array>
#include <cstring>

namespace nnd::context {

std::string errno_text(int error) {
  std::array<char, 128> text{};
  return std::to_string(error) + " (" + ::strerror_r(error, text.data(), text.size()) + ")";
}

}  // namespace nnd::context

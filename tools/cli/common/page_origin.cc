#include "cli/common/page_origin.h"

#include <ctime>

namespace nnd::cli {

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &local)};
}

}  // namespace nnd::cli

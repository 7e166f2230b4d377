#include "config/settings.h"

#include <cstdlib>

namespace nnd::config {

Settings load_settings() {
  Settings s;
  if (const char* v = std::getenv("NCCL_NET_DIAG_FILE")) s.file = v;
  return s;
}

}  // namespace nnd::config

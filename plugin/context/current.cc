#include "context/current.h"

namespace nnd::context {

Current& current() noexcept {
  static thread_local Current instance;
  return instance;
}

}  // namespace nnd::context

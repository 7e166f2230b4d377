#include "context/current.h"

namespace nnd::context {

Current& current() noexcept {
  static thread_local Current instance;
  return instance;
}

FailedCompletion& failed_completion() noexcept {
  static thread_local FailedCompletion instance;
  return instance;
}

}  // namespace nnd::context

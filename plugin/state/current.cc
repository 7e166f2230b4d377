#include "state/current.h"

#include "state/qp.h"

namespace nnd::state {

CallContext& current() noexcept {
  static thread_local CallContext instance;
  return instance;
}

bool FailedCompletion::holds() const noexcept {
  return conn != 0 &&
         (qp == nullptr || (qp->completed.load(std::memory_order_relaxed) == completed &&
                            qp->told.load(std::memory_order_relaxed) != 0));
}

FailedCompletion& failed_completion() noexcept {
  static thread_local FailedCompletion instance;
  return instance;
}

}  // namespace nnd::state

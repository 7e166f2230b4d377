#include "verbs/fields.h"

#include "context/quiet.h"

namespace nnd::verbs {

void note_failure(const char* verb, int error) noexcept {
  const context::ErrnoKeeper keep;
  state::CallContext& now = state::current();
  now.failed_verb = verb;
  now.failed_errno = error;
}

std::string device_name(const ibv_context* context) {
  return context == nullptr || context->device == nullptr ? "" : context->device->name;
}

}  // namespace nnd::verbs

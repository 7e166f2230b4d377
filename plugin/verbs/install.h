// Putting the verbs layer between one NCCL image and its verbs library.
#pragma once

#include <cstddef>
#include <string>

#include "config/settings.h"

namespace nnd::verbs {

struct InstallResult {
  bool ok = false;
  std::size_t slots = 0;  // import slots of this image that now lead to us
  bool linked = false;    // the image links libibverbs directly (NCCL_BUILD_RDMA_CORE)
  std::string module;     // the image's path
  std::string problem;  // one sentence: why not, or what could not be done; empty when all is well
};

// Redirects the dlvsym and dlsym slots (and, where it links libibverbs itself, the ibv_* slots) of
// the one module that `nccl_address` lies in. No other module's calls are touched. Call it before
// NCCL resolves its verbs, which every NCCL does after it has loaded the net plugin. Calling it
// again for the same image changes nothing; for another image it adds that one. Thread-safe. Never
// throws; where it can't be done the job runs on, unseen by this layer.
InstallResult install(const void* nccl_address, const config::Settings& settings) noexcept;

struct State {
  bool installed = false;        // at least one image's slots lead to us
  bool first_call_seen = false;  // and NCCL has come through them
  bool too_many_libraries = false;
};

State state() noexcept;

}  // namespace nnd::verbs

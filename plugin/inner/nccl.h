// The NCCLs of this process: which one calls, what it is.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "inner/find.h"
#include "inner/module.h"

namespace nnd::inner {

bool looks_like_nccl(const Module& module);  // it exports ncclGetVersion

// NCCL's code as text: 22809 is "2.28.9".
std::string version_text(int code);

// The net API that the NCCL in this module uses for its own transports: from the table of known
// releases, else the highest ncclNetPlugin_vN that it can ask a plugin for, since it asks for its
// own first. 0 where neither can be told.
int own_net_version(const Module& module, int nccl_code);

struct Calling {
  std::optional<Module> module;
  Trouble trouble = Trouble::kNone;
  std::string why;  // one sentence
};

// The caller's module where that is an NCCL; else the only NCCL among the other modules, the
// plugin's own left out. holds(module): it has what is looked for; asked of the caller's module,
// and of the others only if none exports ncclGetVersion.
Calling calling_module(const void* caller, const std::function<bool(const Module&)>& holds);

}  // namespace nnd::inner

// A rank process: a Session driven over a channel.
//
// Requests are {"id", "op", ...} (see Session); replies carry the id, "rc" and what the request
// gives, or "error": a sentence. Requests that take several polls run side by side and are answered
// when they end. Beyond Session's:
//   {"op": "fork"}  a child is forked and exits at once; answered with its "status"
//   {"op": "exit", "how": "return" | "_exit"}
#pragma once

#include <functional>

#include "driver/channel.h"

namespace nnd::driver {

// Serves until told to exit; the value is the process's exit status. When the other side goes away
// the process ends at once: nobody is left to see what it does.
int serve(Channel& channel, std::function<void(void*)> prepare);

}  // namespace nnd::driver

// A rank process: a Session driven over a socket.
//
// Requests are {"id", "op", ...} (see Session); replies carry the id, "rc" and what the request
// gives, or "error": a sentence. Requests that take several polls run side by side and are answered
// when they end. Beyond Session's:
//   {"op": "hurry", "request", "ms"}  the request of that id is answered by then, if only that it
//                                     is not done
//   {"op": "exit", "how": "return" | "_exit"}
#pragma once

#include <functional>

#include "driver/session.h"
#include "wire/json_socket.h"

namespace nnd::driver {

// Serves until told to exit; the value is the process's exit status. When the other side goes away
// the process ends at once: nobody is left to see what it does.
int serve(wire::JsonSocket& socket, std::function<void(void*)> prepare, MoreRequests more = {});

}  // namespace nnd::driver

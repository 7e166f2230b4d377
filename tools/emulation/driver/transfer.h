// Moving verified data over a connection, as NCCL's proxy does: a window of requests in flight,
// each retried while the transport says "not yet" and tested until it is done.
//
// Both take {"conn", "sizes": [bytes...], "repeat", "seed", "window", "offset", "tag", "type",
// "deadline_ms"}. Messages are the sizes, `repeat` times over; each lies `offset` bytes past a
// page. "group" of them make one irecv, each with a tag of its own; "window" counts such groups.
// recv also takes "capacity" (bytes offered per message; the largest size if absent), "flush" (what
// came is flushed before it is read) and "optional" (the completion is not needed, said from net
// v9). With "asks" false nothing is tested, as where NCCL's proxy has ended.
//
// Result: {"rc", "bytes", "messages", "ns", "retries"}, with "stage" and "message" where the
// transport failed, "timeout" where the deadline came first, "corrupt": sentence where data is
// wrong.
#pragma once

#include <memory>

#include "driver/session.h"

namespace nnd::driver {

std::unique_ptr<Task> begin_send(Session& session, const nlohmann::json& request);
std::unique_ptr<Task> begin_recv(Session& session, const nlohmann::json& request);

}  // namespace nnd::driver

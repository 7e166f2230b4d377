// Measuring: latency of small messages to and fro, and bandwidth of a stream. Both poll without
// sleeping, as NCCL's proxy does, and end by a message of one byte, so that only one side watches
// the clock.
//
// {"op": "pingpong", "send": conn, "recv": conn, "first": bool, "size", "ms", "most",
// "deadline_ms"}
//   Messages of `size` bytes (at least 2) to the peer and back, at most `most` times and for `ms`.
//   Result of the first side: {"rc", "samples", "p50_ns", "p99_ns", "min_ns"}, halves of round
//   trips.
// {"op": "stream", "conn", "size", "window", "ms", "deadline_ms"}
//   The sender sends for `ms`. Result: {"rc", "bytes", "messages", "ns"}, of the sender's full
//   messages. The receiver verifies the last of each place in the window.
//
// With "stage" where the transport failed, "timeout" where the deadline came first, "corrupt":
// sentence where data is wrong.
#pragma once

#include <memory>

#include "driver/session.h"

namespace nnd::driver {

std::unique_ptr<Task> begin_pingpong(Session& session, const nlohmann::json& request);
std::unique_ptr<Task> begin_stream(Session& session, const nlohmann::json& request);

}  // namespace nnd::driver

// Opening a connection: polled as NCCL's proxy does, in the same handle memory each time.
#pragma once

#include <memory>

#include "driver/session.h"

namespace nnd::driver {

// {"context", "dev", "handle": hex, "deadline_ms"}. Result: {"rc", "conn", "polls", "ns"}, or
// {"rc", "stage"} when the transport failed, or {"timeout", "stage", "polls"}.
std::unique_ptr<Task> begin_connect(Session& session, const nlohmann::json& request);

// {"listener", "context", "deadline_ms"}; results as above.
std::unique_ptr<Task> begin_accept(Session& session, const nlohmann::json& request,
                                   const Listener& listener);

std::string to_hex(const void* data, std::size_t size);
void from_hex(const std::string& text, void* data, std::size_t size);  // throws Error

}  // namespace nnd::driver

#include "log/event.h"

namespace nnd::log {

std::string Dev::port_name() const { return name + ":" + std::to_string(port.value_or(1)); }

const char* name_of(Direction dir) { return dir == Direction::kSend ? "send" : "recv"; }

}  // namespace nnd::log

// Reading and writing of a ping's sockets, which do not block. Internal to ping_wire and ping_meet.
#pragma once

#include <string_view>

#include "cli/ping/seal.h"

namespace nnd::cli {

bool send_all(int fd, std::string_view text);  // false: the peer is gone
// What has arrived is added. False: the peer is gone, or a line is too long.
bool read_into(int fd, LineBuffer& lines);
void prepare_socket(int fd);

}  // namespace nnd::cli

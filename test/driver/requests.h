// What tests ask of a rank beyond what the driver's Session does:
//   profile, end_profile   a plugin's profiler, begun and ended as for a communicator
//   make_vdevice, register, unload
//   trace                  every call to the transport; "forget": what was kept of them
//   fork                   a child is forked and exits at once; answered with its "status"
#pragma once

#include "driver/session.h"

namespace nnd::driver {

MoreRequests test_requests();

}  // namespace nnd::driver

// The device list: NCCL's first request for it is when this node's HCAs become known.
#pragma once

#include <string_view>
#include <vector>

#include "facts/verbs_device.h"
#include "verbs/library.h"

namespace nnd::verbs {

// Reads everything of one device: opens it, unless that fails. The caller owns *context.
facts::VerbsDevice probe(const Real& real, ibv_device* device, ibv_context** context);

// Called once per library, with every device that verbs shows and before NCCL sees the list, on the
// thread that is inside NCCL's init. Set it before install().
using DevicesSeen = void (*)(const std::vector<facts::VerbsDevice>& devices);
void on_devices(DevicesSeen seen) noexcept;

// Which devices and ports NCCL may see: the place of a policy. Asked for every list and every
// ibv_query_port, whoever asks (later communicators, GDAKI), so they must be fast and not block. A
// device that may not be seen is missing from the list; a port is reported as down. None set: all.
using DeviceFilter = bool (*)(std::string_view device);
using PortFilter = bool (*)(std::string_view device, unsigned port);
void set_device_filter(DeviceFilter filter) noexcept;
void set_port_filter(PortFilter filter) noexcept;
bool may_see_port(const ibv_context* context, unsigned port);

// Whether NCCL has asked for the device list through us.
bool device_list_seen() noexcept;

}  // namespace nnd::verbs

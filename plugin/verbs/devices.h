// The device list: NCCL's first request for it is when this node's HCAs become known.
#pragma once

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

// Whether NCCL may see a device: the place of a policy. None set: all.
using DeviceFilter = bool (*)(const facts::VerbsDevice& device);
void set_device_filter(DeviceFilter filter) noexcept;

// Whether NCCL has asked for the device list through us.
bool device_list_seen() noexcept;

}  // namespace nnd::verbs

// The device list: NCCL's first request for it is when this node's HCAs become known.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/verbs_device.h"
#include "verbs/library.h"

namespace nnd::verbs {

// Reads everything of one device: opens it, unless that fails. The caller owns *context.
facts::VerbsDevice probe(const Real& real, ibv_device* device, ibv_context** context);

// What somebody has asked of an open device already: an errno (0: well) and what it said.
struct Answers {
  std::optional<std::pair<int, ibv_device_attr>> device;
  std::map<unsigned, std::pair<int, ibv_port_attr>> ports;  // by number
};

// Reads of an open device what `known` doesn't tell. Asks neither for DMA-BUF nor for pkeys.
void read_device(const Real& real, ibv_context* context, const Answers& known,
                 facts::VerbsDevice& fact);

// Called once per library, with every device that verbs shows, on the thread that is inside NCCL's
// init: when NCCL is done with the list, or before NCCL sees it where facts_first() says so. Set it
// before install().
using DevicesSeen = void (*)(const std::vector<facts::VerbsDevice>& devices);
void on_devices(DevicesSeen seen) noexcept;

// Whether the facts are needed before NCCL sees the list: where a policy hides devices, or NCCL may
// not survive it. Every device is then opened by us, and NCCL gets what came of that. None set: no.
using FactsFirst = bool (*)(const std::vector<std::string>& devices);
void facts_first(FactsFirst first) noexcept;

// For an init that gave up before it was done with its list: the facts as far as they go.
void end_device_list() noexcept;

// Called when NCCL has asked a device for DMA-BUF, and when the answer has changed: 0 or an errno,
// of which EOPNOTSUPP and EPROTONOSUPPORT say that it has none. Answers that came before
// on_devices() was called are in the facts instead.
using DmabufHeard = void (*)(std::string_view device, int error);
void on_dmabuf(DmabufHeard heard) noexcept;

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

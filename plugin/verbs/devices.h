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

// For an init that gave up before it was done with its list: the facts as far as they go.
void end_device_list() noexcept;

// By the hooks.
bool may_see_port(const ibv_context* context, unsigned port);

// Whether NCCL has asked for the device list through us.
bool device_list_seen() noexcept;

}  // namespace nnd::verbs

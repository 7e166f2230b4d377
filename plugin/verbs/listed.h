// The device list that NCCL goes through at its init: what NCCL learns of each device is
// kept, and only what it did not ask is read by us, when it is done. No verb that NCCL calls is
// called before NCCL's own call, so that one which fails once fails for NCCL as it would without
// us.
#pragma once

#include <optional>
#include <vector>

#include "verbs/devices.h"

namespace nnd::verbs {

// NCCL has this list now and will open its devices. One list at a time: a second takes its place.
void note_list(const Library& lib, ibv_device** list, int count);

// What NCCL did and how it ended (errno, 0: well). Cheap while there is no such list.
void note_open(ibv_device* device, ibv_context* context, int error);
void note_close(const ibv_context* context);
void note_device(const ibv_context* context, int error, const ibv_device_attr& attr);
void note_port(const ibv_context* context, unsigned port, int error, const ibv_port_attr& attr);

// Everything of the list's devices; nothing where it isn't the one that is noted (null: whatever
// is). Reads what is missing, through contexts of our own where NCCL has closed or not opened the
// device. To be called before the list is freed.
std::optional<std::vector<facts::VerbsDevice>> end_list(ibv_device** list);

// NCCL's question whether a device takes DMA-BUF: a registration that can't succeed. Kept by the
// device's name; new answers go to the hooks.
void heard_dmabuf(const ibv_context* context, int error);

}  // namespace nnd::verbs

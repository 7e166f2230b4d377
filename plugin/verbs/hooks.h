// What this layer asks of a policy and tells whoever keeps the facts. One struct of plain
// functions; by default nothing is kept from NCCL and nobody is told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/verbs_device.h"

namespace nnd::state {
struct QpInfo;
}

namespace nnd::verbs {

struct Hooks {
  // Called once per library, with every device that verbs shows, on the thread that is inside
  // NCCL's init: when NCCL is done with the list, or before NCCL sees it where facts_first() says
  // so.
  void (*devices_seen)(const std::vector<facts::VerbsDevice>& devices) =
      [](const std::vector<facts::VerbsDevice>&) {};
  // Whether the facts are needed before NCCL sees the list: where a policy hides devices, or NCCL
  // may not survive it. Every device is then opened by us, and NCCL gets what came of that.
  bool (*facts_first)(const std::vector<std::string>& devices) =
      [](const std::vector<std::string>&) { return false; };
  // NCCL has asked a device for DMA-BUF and the answer is new: 0 or an errno, of which EOPNOTSUPP
  // and EPROTONOSUPPORT say that it has none. Answers that came before the device list was done are
  // in the facts instead.
  void (*dmabuf_answered)(std::string_view device, int error) = [](std::string_view, int) {};
  // Which devices and ports NCCL may see. Asked for every list and every ibv_query_port, whoever
  // asks (later communicators, GDAKI), so they must be fast and not block. A device that may not be
  // seen is missing from the list; a port is reported as down.
  bool (*may_see_device)(std::string_view device) = [](std::string_view) { return true; };
  bool (*may_see_port)(std::string_view device, unsigned port) = [](std::string_view, unsigned) {
    return true;
  };
  // Whether a connection may be set up between the two ends that it names. False: its first move to
  // RTR fails with EHOSTUNREACH.
  bool (*may_pair)(const state::QpInfo& qp) = [](const state::QpInfo&) { return true; };
};

// Those in place. Thread-safe; no lock.
const Hooks& hooks() noexcept;
// `hooks` lives as long as the process; null: the default. Before install().
void set_hooks(const Hooks* hooks) noexcept;

}  // namespace nnd::verbs

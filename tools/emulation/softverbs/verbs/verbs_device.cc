// Devices, ports, GIDs and pkeys.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "softverbs/verbs/exports.h"
#include "softverbs/verbs/faults.h"
#include "softverbs/verbs/world.h"

namespace softverbs {

namespace {

// NCCL's and newer rdma-core's struct goes on after what this header knows: a speed beyond 8 bits.
struct PortAttrEx {
  ibv_port_attr attr;
  std::uint32_t active_speed_ex;
};

constexpr int kPartIdConnectX7 = 4129;

struct Looks {
  std::uint32_t vendor;
  std::uint32_t part;
};

Looks looks_of(Look look) {
  switch (look) {
    case Look::kMlx5:
      return {0x02c9, kPartIdConnectX7};
    case Look::kBnxt:
      return {0x14e4, 0x1750};
    case Look::kIrdma:
      return {0x8086, 0x1592};
    case Look::kEfa:
      return {0x1d0f, 0xefa1};
    case Look::kRxe:
      break;
  }
  return {0xffffff, 0};
}

int width_code(int lanes) {
  switch (lanes) {
    case 1:
      return 1;
    case 2:
      return 16;
    case 8:
      return 4;
    case 12:
      return 8;
    default:
      return 2;
  }
}

std::uint32_t speed_code(std::uint64_t mbps_per_lane) {
  constexpr std::pair<std::uint64_t, std::uint32_t> kCodes[] = {
      {2500, 1}, {5000, 2}, {10000, 4}, {14000, 16}, {25000, 32}, {50000, 64}, {100000, 128}};
  for (const auto& [mbps, code] : kCodes)
    if (mbps_per_lane <= mbps) return code;
  return 256;  // XDR
}

void fill_port(const Device& device, const Port& port, PortAttrEx& out) {
  const bool roce = port.link_layer == LinkLayer::kEthernet;
  const Endpoint end{device.host, device.hca, &port};
  ibv_port_attr& attr = out.attr;
  attr.state = static_cast<ibv_port_state>(port_state(end));
  attr.phys_state = static_cast<std::uint8_t>(
      attr.state == IBV_PORT_DOWN && port.state != IBV_PORT_DOWN ? 3 : port.phys_state);
  attr.max_mtu = IBV_MTU_4096;
  attr.active_mtu = static_cast<ibv_mtu>(port.active_mtu);
  attr.gid_tbl_len = port.gid_table;
  attr.port_cap_flags = 0x04010000U;
  attr.max_msg_sz = 1U << 30;
  attr.pkey_tbl_len = static_cast<std::uint16_t>(port.pkeys.size());
  attr.lid = port.lid;
  attr.sm_lid = port.sm_lid;
  attr.max_vl_num = 4;
  attr.active_width = static_cast<std::uint8_t>(width_code(port.width));
  const std::uint32_t speed = speed_code(port.speed_mbps / static_cast<unsigned>(port.width));
  attr.active_speed = static_cast<std::uint8_t>(std::min<std::uint32_t>(speed, 128));
  out.active_speed_ex = speed > 128 ? speed : 0;
  attr.link_layer = static_cast<std::uint8_t>(port.link_layer);
  attr.flags = roce ? IBV_QPF_GRH_REQUIRED : 0;
}

int query_port_op(ibv_context* handle, std::uint8_t number, ibv_port_attr* attr, std::size_t size) {
  const Device& device = *context_of(handle)->device;
  if (const int error = injected("ibv_query_port", *device.hca)) return error;
  const Port* port = find_port(device, number);
  if (!port) return EINVAL;
  PortAttrEx filled{};
  fill_port(device, *port, filled);
  std::memset(attr, 0, size);
  std::memcpy(attr, &filled, std::min(size, sizeof filled));
  return 0;
}

int no_such_op() { return EOPNOTSUPP; }

int complain(const char* what) {
  std::fprintf(stderr, "softverbs: %s\n", what);
  return ENOSYS;
}

}  // namespace

const Port* find_port(const Device& device, unsigned number) {
  for (const Port& port : device.hca->ports)
    if (static_cast<unsigned>(port.number) == number) return &port;
  return nullptr;
}

const GidEntry* find_gid(const Port& port, int index) {
  for (const GidEntry& entry : port.gids)
    if (entry.index == index) return &entry;
  return nullptr;
}

int port_state(const Endpoint& end) {
  Engine& engine = Engine::get();
  const Engine::Hold hold(engine);
  return engine.links().port_state(end);
}

int injected(const char* verb, const Hca& hca) {
  const auto refusal = Engine::get().faults().call(verb, world().host->name, hca.name);
  if (!refusal) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(refusal->delay_ms));
  return refusal->error;
}

std::nullptr_t fail_with(int error) {
  errno = error;
  return nullptr;
}

}  // namespace softverbs

using namespace softverbs;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  if (count) *count = 0;
  try {
    World& here = world();
    const auto refusal = Engine::get().faults().call("ibv_get_device_list", here.host->name, "");
    if (refusal) return fail_with(refusal->error);
    auto** list = new ibv_device*[here.devices.size() + 1]();
    for (std::size_t i = 0; i < here.devices.size(); ++i) list[i] = &here.devices[i]->dev;
    if (count) *count = static_cast<int>(here.devices.size());
    return list;
  } catch (const std::exception& wrong) {
    return fail_with(complain(wrong.what()));
  }
}

void ibv_free_device_list(ibv_device** list) { delete[] list; }

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

__be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(device_of(device)->hca->node_guid);
}

ibv_context* ibv_open_device(ibv_device* device) {
  Device& own = *device_of(device);
  if (own.hca->open_errno) return fail_with(own.hca->open_errno);
  if (const int error = injected("ibv_open_device", *own.hca)) return fail_with(error);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);  // the engine never waits for a reader
  auto* context = new Context();
  context->device = &own;
  context->extended.owner = context;
  context->event_write = ends[1];
  ibv_context& handle = *context->handle();
  handle.device = device;
  handle.cmd_fd = -1;
  handle.async_fd = ends[0];
  handle.num_comp_vectors = 1;
  ::pthread_mutex_init(&handle.mutex, nullptr);
  handle.abi_compat = __VERBS_ABI_IS_EXTENDED;
  handle.ops.poll_cq = poll_cq;
  handle.ops.post_send = post_send;
  handle.ops.post_recv = post_recv;
  handle.ops.req_notify_cq = [](ibv_cq*, int) { return no_such_op(); };
  context->extended.verbs.sz = sizeof(verbs_context);
  context->extended.verbs.query_port = query_port_op;
  Engine& engine = Engine::get();
  const Engine::Hold hold(engine);
  engine.add_context(*context);
  return &handle;
}

int ibv_close_device(ibv_context* handle) {
  Context* context = context_of(handle);
  if (const int error = injected("ibv_close_device", *context->device->hca)) {
    errno = error;
    return -1;
  }
  Engine& engine = Engine::get();
  {
    const Engine::Hold hold(engine);
    engine.remove_context(*context);
  }
  ::close(context->event_write);  // a reader of async_fd sees the end
  ::close(handle->async_fd);
  delete context;
  return 0;
}

int ibv_query_device(ibv_context* handle, ibv_device_attr* attr) {
  const Hca& hca = *context_of(handle)->device->hca;
  if (const int error = injected("ibv_query_device", hca)) return error;
  const Looks looks = looks_of(hca.look);
  *attr = {};
  std::snprintf(attr->fw_ver, sizeof attr->fw_ver, "%s", hca.firmware.c_str());
  attr->node_guid = htobe64(hca.node_guid);
  attr->sys_image_guid = htobe64(hca.sys_image_guid);
  attr->max_mr_size = ~0ULL;
  attr->page_size_cap = ~0xfffULL;
  attr->vendor_id = looks.vendor;
  attr->vendor_part_id = looks.part;
  attr->max_qp = hca.max_qp;
  attr->max_qp_wr = kMaxQpWr;
  attr->max_sge = kMaxSge;
  attr->max_sge_rd = kMaxSge;
  attr->max_cq = 1 << 24;
  attr->max_cqe = kMaxCqe;
  attr->max_mr = 1 << 24;
  attr->max_pd = 1 << 23;
  attr->max_qp_rd_atom = kMaxRdAtomic;
  attr->max_qp_init_rd_atom = kMaxRdAtomic;
  attr->atomic_cap = IBV_ATOMIC_HCA;
  attr->max_pkeys = 128;
  attr->local_ca_ack_delay = 16;
  attr->phys_port_cnt = static_cast<std::uint8_t>(hca.ports.size());
  return 0;
}

// The version-1.1 symbol fills what the struct had then: 48 bytes, without the flags at its end.
#undef ibv_query_port
int ibv_query_port(ibv_context* handle, std::uint8_t number, _compat_ibv_port_attr* attr) {
  constexpr std::size_t kOldSize = offsetof(ibv_port_attr, flags);
  return query_port_op(handle, number, reinterpret_cast<ibv_port_attr*>(attr), kOldSize);
}

// Effective speed in units of 100 Mb/s (rdma-core 60, IBVERBS_1.16).
int ibv_query_port_speed(ibv_context* handle, std::uint32_t number, std::uint64_t* speed) {
  const Device& device = *context_of(handle)->device;
  const Port* port = find_port(device, number);
  if (!port) return EINVAL;
  *speed = port->speed_mbps / 100;
  return 0;
}

int ibv_query_gid(ibv_context* handle, std::uint8_t number, int index, ibv_gid* gid) {
  const Device& device = *context_of(handle)->device;
  int error = injected("ibv_query_gid", *device.hca);
  const Port* port = find_port(device, number);
  if (!error && (!port || index < 0 || index >= port->gid_table)) error = EINVAL;
  if (error) {
    errno = error;
    return -1;
  }
  std::memset(gid, 0, sizeof *gid);
  const GidEntry* entry = find_gid(*port, index);
  if (entry && !Engine::get().faults().gid_gone(device.host->name, device.hca->name, index))
    std::memcpy(gid->raw, entry->gid.data(), sizeof gid->raw);
  return 0;
}

static void fill_gid_entry(const Device& device, const Port& port, const GidEntry& entry,
                           ibv_gid_entry& out) {
  std::memcpy(out.gid.raw, entry.gid.data(), sizeof out.gid.raw);
  out.gid_index = static_cast<std::uint32_t>(entry.index);
  out.port_num = static_cast<std::uint32_t>(port.number);
  out.gid_type = static_cast<std::uint32_t>(entry.type);  // IB, RoCE v1, RoCE v2, as verbs counts
  const Netdev* netdev = device.host->find_netdev(entry.netdev);
  out.ndev_ifindex = netdev ? static_cast<std::uint32_t>(netdev->ifindex) : 0;
}

int _ibv_query_gid_ex(ibv_context* handle, std::uint32_t number, std::uint32_t index,
                      ibv_gid_entry* out, std::uint32_t flags, std::size_t size) {
  const Device& device = *context_of(handle)->device;
  const Port* port = find_port(device, number);
  if (flags || !port || index >= static_cast<std::uint32_t>(port->gid_table)) return EINVAL;
  const GidEntry* entry = find_gid(*port, static_cast<int>(index));
  if (!entry) return ENODATA;
  ibv_gid_entry filled{};
  fill_gid_entry(device, *port, *entry, filled);
  std::memset(out, 0, size);
  std::memcpy(out, &filled, std::min(size, sizeof filled));
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* handle, ibv_gid_entry* out, std::size_t max,
                             std::uint32_t flags, std::size_t size) {
  if (flags) return -EINVAL;
  const Device& device = *context_of(handle)->device;
  std::size_t count = 0;
  for (const Port& port : device.hca->ports)
    for (const GidEntry& entry : port.gids) {
      if (count == max) return -EINVAL;
      ibv_gid_entry filled{};
      fill_gid_entry(device, port, entry, filled);
      char* place = reinterpret_cast<char*>(out) + count++ * size;
      std::memset(place, 0, size);
      std::memcpy(place, &filled, std::min(size, sizeof filled));
    }
  return static_cast<ssize_t>(count);
}

int ibv_query_pkey(ibv_context* handle, std::uint8_t number, int index, __be16* pkey) {
  const Device& device = *context_of(handle)->device;
  int error = injected("ibv_query_pkey", *device.hca);
  const Port* port = find_port(device, number);
  if (!error && (!port || index < 0 || index >= static_cast<int>(port->pkeys.size())))
    error = EINVAL;
  if (error) {
    errno = error;
    return -1;
  }
  *pkey = htobe16(port->pkeys[static_cast<std::size_t>(index)]);
  return 0;
}

int ibv_fork_init() { return 0; }

}  // extern "C"

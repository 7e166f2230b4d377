#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "verbs/devices.h"
#include "verbs/gid.h"

namespace nnd::verbs {
namespace {

facts::GidType gid_type(std::uint32_t type) noexcept {
  switch (type) {
    case IBV_GID_TYPE_IB:
      return facts::GidType::kIb;
    case IBV_GID_TYPE_ROCE_V1:
      return facts::GidType::kRoceV1;
    case IBV_GID_TYPE_ROCE_V2:
      return facts::GidType::kRoceV2;
    default:
      return facts::GidType::kUnknown;
  }
}

facts::VerbsGid as_fact(unsigned index, const ibv_gid& gid) {
  facts::VerbsGid fact;
  fact.index = index;
  fact.raw = raw_of(gid);
  return fact;
}

// All ports' GIDs in one call (rdma-core 32 and newer, kernel 5.11 and newer). False: not there.
bool read_gid_table(const Real& real, ibv_context* context, facts::VerbsDevice& device) {
  if (real.query_gid_table == nullptr) return false;
  std::size_t total = 0;
  for (const auto& port : device.ports)
    total += static_cast<std::size_t>(std::max(0, port.gid_table_length));
  std::vector<ibv_gid_entry> entries(total);
  const ssize_t n =
      real.query_gid_table(context, entries.data(), entries.size(), 0, sizeof(ibv_gid_entry));
  if (n < 0) return false;
  entries.resize(static_cast<std::size_t>(n));
  for (const ibv_gid_entry& entry : entries) {
    const auto port = std::find_if(device.ports.begin(), device.ports.end(),
                                   [&](const auto& p) { return p.number == entry.port_num; });
    if (port == device.ports.end() || context::gid_zero(raw_of(entry.gid))) continue;
    facts::VerbsGid gid = as_fact(entry.gid_index, entry.gid);
    gid.type = gid_type(entry.gid_type);
    gid.ifindex = static_cast<int>(entry.ndev_ifindex);
    port->gids.push_back(gid);
  }
  return true;
}

void read_gids_singly(const Real& real, ibv_context* context, facts::VerbsPort& port) {
  if (real.query_gid == nullptr) return;
  for (int i = 0; i < port.gid_table_length; ++i) {
    ibv_gid gid{};
    if (real.query_gid(context, port.number, i, &gid) == 0 && !context::gid_zero(raw_of(gid)))
      port.gids.push_back(as_fact(static_cast<unsigned>(i), gid));
  }
}

void read_pkeys(const Real& real, ibv_context* context, facts::VerbsPort& port) {
  // On Ethernet there is one pkey, the default one.
  const int length = port.link_layer == IBV_LINK_LAYER_ETHERNET
                         ? std::min(1, port.pkey_table_length)
                         : port.pkey_table_length;
  for (int i = 0; i < length && real.query_pkey != nullptr; ++i) {
    __be16 pkey = 0;
    if (real.query_pkey(context, port.number, i, &pkey) != 0) break;
    port.pkeys.push_back(be16toh(pkey));
  }
  while (!port.pkeys.empty() && port.pkeys.back() == 0) port.pkeys.pop_back();
}

std::pair<int, ibv_port_attr> ask_port(const Real& real, ibv_context* context,
                                       std::uint8_t number) {
  std::pair<int, ibv_port_attr> answer{};
  // At IBVERBS_1.1 it fills what the first libibverbs had: a prefix of today's structure.
  const int rc =
      real.query_port(context, number, reinterpret_cast<_compat_ibv_port_attr*>(&answer.second));
  answer.first = rc == -1 ? errno : rc;
  return answer;
}

facts::VerbsPort as_fact(std::uint8_t number, const std::pair<int, ibv_port_attr>& answer) {
  facts::VerbsPort port;
  port.number = number;
  port.query_errno = answer.first;
  if (answer.first != 0) return port;
  const ibv_port_attr& attr = answer.second;
  port.state = attr.state;
  port.phys_state = attr.phys_state;
  port.link_layer = attr.link_layer;
  port.active_speed = attr.active_speed;
  port.active_width = attr.active_width;
  port.active_mtu = attr.active_mtu;
  port.max_mtu = attr.max_mtu;
  port.lid = attr.lid;
  port.sm_lid = attr.sm_lid;
  port.gid_table_length = attr.gid_tbl_len;
  port.pkey_table_length = attr.pkey_tbl_len;
  return port;
}

// NCCL's own question (gdr.cc, 2.18.3 to 2.30.7): a registration that can't succeed, whose errno
// says whether this HCA knows DMA-BUF. -1: could not be asked.
int ask_dmabuf(const Real& real, ibv_context* context) {
  if (real.reg_dmabuf_mr == nullptr) return EOPNOTSUPP;
  if (real.alloc_pd == nullptr || real.dealloc_pd == nullptr || real.dereg_mr == nullptr) return -1;
  ibv_pd* pd = real.alloc_pd(context);
  if (pd == nullptr) return -1;
  errno = 0;
  ibv_mr* mr = real.reg_dmabuf_mr(pd, 0, 0, 0, -1, 0);
  const int answer = errno;
  if (mr != nullptr) real.dereg_mr(mr);
  real.dealloc_pd(pd);
  return answer;
}

}  // namespace

void read_device(const Real& real, ibv_context* context, const Answers& known,
                 facts::VerbsDevice& fact) {
  ibv_device_attr attr{};
  if (known.device)
    attr = known.device->second;
  else if (real.query_device == nullptr || real.query_device(context, &attr) != 0)
    return;
  if (real.query_port == nullptr || (known.device && known.device->first != 0)) return;
  fact.node_guid = be64toh(attr.node_guid);
  fact.sys_image_guid = be64toh(attr.sys_image_guid);
  fact.vendor_id = attr.vendor_id;
  fact.vendor_part_id = attr.vendor_part_id;
  fact.firmware = attr.fw_ver;
  fact.max_qp = attr.max_qp;
  fact.max_cq = attr.max_cq;
  fact.max_mr = attr.max_mr;
  if (real.reg_dmabuf_mr == nullptr) fact.dmabuf_errno = EOPNOTSUPP;
  for (unsigned i = 1; i <= attr.phys_port_cnt; ++i) {
    const auto number = static_cast<std::uint8_t>(i);
    const auto told = known.ports.find(i);
    fact.ports.push_back(as_fact(
        number, told != known.ports.end() ? told->second : ask_port(real, context, number)));
  }
  const bool table = read_gid_table(real, context, fact);
  for (auto& port : fact.ports) {
    if (!table) read_gids_singly(real, context, port);
    remember_gids(context, port.number, port.gids);
  }
}

facts::VerbsDevice probe(const Real& real, ibv_device* device, ibv_context** context) {
  facts::VerbsDevice fact;
  fact.name = device->name;
  fact.uverbs_name = device->dev_name;
  *context = real.open_device(device);
  if (*context == nullptr) {
    fact.open_errno = errno != 0 ? errno : EIO;
    return fact;
  }
  read_device(real, *context, {}, fact);
  if (fact.ports.empty()) return fact;
  fact.dmabuf_errno = ask_dmabuf(real, *context);
  for (auto& port : fact.ports) {
    read_pkeys(real, *context, port);
    std::uint64_t speed = 0;  // in units of 100 Mbit/s
    if (real.query_port_speed != nullptr &&
        real.query_port_speed(*context, port.number, &speed) == 0)
      port.effective_speed_mbps = static_cast<long>(speed * 100);
  }
  return fact;
}

}  // namespace nnd::verbs

#include "net/devices.h"

#include <map>
#include <mutex>
#include <utility>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "record/fields.h"

namespace nnd::net {

namespace {

struct Table {
  context::ForkMutex lock;
  std::map<std::pair<int, int>, Device> devices;  // by API version and index
};

Table& table() {
  static context::Immortal<Table> instance;
  return *instance;
}

// /sys/.../0000:3b:00.0 is 0000:3b:00.0.
std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Fields that tell devices apart; transports don't fill all others on every call.
bool same(const Device& a, const Device& b) {
  return a.index == b.index && a.name == b.name && a.pci_path == b.pci_path && a.port == b.port &&
         a.guid == b.guid && a.speed_mbps == b.speed_mbps && a.ptr_support == b.ptr_support;
}

record::DeviceFields fields_of(const Device& d) {
  record::DeviceFields fields{.index = d.index, .name = d.name, .speed_mbps = d.speed_mbps};
  if (d.port > 0) fields.port = static_cast<unsigned>(d.port);
  fields.pci = last_part(d.pci_path);
  return fields;
}

void emit(int api, const Device& d) {
  record::Event event(record::EventId::kNetDevice);
  if (!event.enabled()) return;
  event.add("net_api", api);
  add_device(event, fields_of(d));
  event.hex("guid", d.guid);
  event.array("memory");
  if ((d.ptr_support & 1) != 0) event.push("host");
  if ((d.ptr_support & 2) != 0) event.push("cuda");
  if ((d.ptr_support & 4) != 0) event.push("dmabuf");
  event.end();
  event.add("latency_us", static_cast<double>(d.latency_us))
      .add("max_comms", d.max_comms)
      .add("max_recvs", d.max_recvs);
  if (d.reg_is_global >= 0) event.add("reg_is_global", d.reg_is_global != 0);
  if (d.force_flush >= 0) event.add("force_flush", d.force_flush != 0);
  if (api >= 7) event.add("device_type", d.device_type).add("device_version", d.device_version);
  if (api >= 9) {
    event.add("max_p2p_bytes", d.max_p2p_bytes).add("max_coll_bytes", d.max_coll_bytes);
    event.array("parts");
    for (const int part : d.parts) event.push(std::to_string(part));
    event.end();
  }
  if (d.max_multi_request >= 0) event.add("max_multi_request", d.max_multi_request);
  if (api >= 12) event.add("rail", d.rail).add("plane", d.plane);
  event.emit();
}

}  // namespace

void learn_device(int api, Device device) {
  if (const auto port = dependencies().port(device.name, device.nccl_port))
    device.port = port->number;
  Table& t = table();
  {
    const std::lock_guard guard(t.lock);
    Device& known = t.devices[{api, device.index}];
    if (same(known, device)) return;
    known = device;
  }
  emit(api, device);
}

void leave_bootstrap() noexcept {
  state::Boot boot;
  if (state::end_bootstrap(boot)) dependencies().met(boot);
}

PortFacts port_of(int api, int index) {
  Table& t = table();
  std::string name;
  int nccl_port = 0;
  {
    const std::lock_guard guard(t.lock);
    const auto found = t.devices.find({api, index});
    if (found == t.devices.end()) return {};
    name = found->second.name;
    nccl_port = found->second.nccl_port;
  }
  return dependencies().port(name, nccl_port).value_or(PortFacts{});
}

state::ConnectionStart start_on(int api, int index) noexcept {
  state::ConnectionStart start;
  Table& t = table();
  const std::lock_guard guard(t.lock);
  const auto found = t.devices.find({api, index});
  if (found == t.devices.end()) return start;
  start.device = found->second.name;
  start.pci = last_part(found->second.pci_path);
  start.port = found->second.port > 0 ? static_cast<std::uint32_t>(found->second.port) : 0;
  start.speed_mbps = found->second.speed_mbps;
  return start;
}

std::string device_name(int api, int index) {
  Table& t = table();
  const std::lock_guard guard(t.lock);
  const auto found = t.devices.find({api, index});
  return found != t.devices.end() ? found->second.name : "";
}

void add_net_device(record::Event& event, int api, int index, const state::ConnectionEnds& ends,
                    Detail detail) {
  Table& t = table();
  const std::lock_guard guard(t.lock);
  const auto found = t.devices.find({api, index});
  record::DeviceFields fields{.index = index};
  if (found != t.devices.end()) fields = fields_of(found->second);
  if (ends.port != 0) {
    if (fields.name.empty()) fields.name = ends.device;
    if (fields.pci.empty()) fields.pci = ends.pci;
    if (fields.speed_mbps < 0) fields.speed_mbps = ends.speed_mbps;
    fields.port = ends.port;
    fields.numa = ends.numa;
    fields.link_layer = ends.link_layer;
    fields.mtu = ends.mtu;
    fields.gid_index = ends.gid_index;
    fields.gid = ends.gid;
    fields.subnet = ends.subnet;
    fields.netdev = ends.netdev;
  }
  if (detail == Detail::kName) {
    fields = {.index = index, .name = fields.name, .port = fields.port};
  } else if (detail == Detail::kInUse) {
    fields.pci = fields.link_layer = {};
    fields.numa = -1;
    fields.speed_mbps = -1;
  }
  add_device(event, fields);
}

}  // namespace nnd::net

// What NCCL's own IB transport will do here: its devices, and what a connection's QPs get.
#include <fmt/format.h>

#include "cli/check/json.h"
#include "facts/nccl_devices.h"

namespace nnd::cli {

namespace {

using nlohmann::json;

constexpr int kHostMemory = 1;  // NCCL_PTR_HOST, NCCL_PTR_CUDA, NCCL_PTR_DMABUF
constexpr int kPeermem = 2;
constexpr int kDmabuf = 4;

const char* init_text(facts::NcclInit init) {
  switch (init) {
    case facts::NcclInit::kWorks:
      return "works";
    case facts::NcclInit::kFails:
      return "fails";
    case facts::NcclInit::kCrashes:
      break;
  }
  return "crashes";
}

facts::Environment environment_of(const facts::Node& node) {
  auto out = facts::Environment::of_process();
  out.read_as(node.nccl_version);
  return out;
}

json device_json(const facts::NcclDevice& device, std::size_t index) {
  const facts::Hca& hca = *device.members.front().hca;
  json members = json::array();
  for (const facts::NcclMember& member : device.members)
    members.push_back({{"hca", member.hca->name}, {"port", member.port->number}});
  return {{"index", index},
          {"name", device.name},
          {"members", members},
          {"port", device.port},
          {"pci_path", device.pci_path.empty() ? json() : json(device.pci_path)},
          {"guid", fmt::format("0x{:016x}", hca.sys_image_guid)},
          {"speed_mbps", device.speed_mbps},
          {"ptr_support",
           kHostMemory | (device.peermem ? kPeermem : 0) | (device.dmabuf ? kDmabuf : 0)},
          {"force_flush", device.force_flush},
          {"max_comms", hca.max_qp},
          {"rail", device.rail < 0 ? json() : json(device.rail)},
          {"plane", device.plane < 0 ? json() : json(device.plane)}};
}

json qp_json(const facts::NcclQp& qp) {
  return {{"count", qp.count},
          {"pkey_index", qp.pkey_index},
          {"traffic_class", qp.traffic_class},
          {"receiver_traffic_class", qp.receiver_traffic_class},
          {"service_level", qp.service_level},
          {"timeout", qp.timeout},
          {"retry_count", qp.retry_count}};
}

}  // namespace

std::string transport_trouble(const facts::Node& node) {
  const facts::NcclDevices found = facts::nccl_devices(node, environment_of(node));
  return found.init == facts::NcclInit::kWorks
             ? std::string()
             : fmt::format("NCCL's IB transport {} in its init: {}.", init_text(found.init),
                           found.why);
}

json transport_json(const facts::Node& node) {
  const facts::Environment environment = environment_of(node);
  const facts::NcclDevices found = facts::nccl_devices(node, environment);
  json devices = json::array();
  for (const facts::NcclDevice& device : found.devices)
    devices.push_back(device_json(device, devices.size()));
  return {{"init", init_text(found.init)},
          {"why", found.why.empty() ? json() : json(found.why)},
          {"devices", devices},
          {"qp", qp_json(facts::nccl_qp(environment, node.nccl_version))}};
}

}  // namespace nnd::cli

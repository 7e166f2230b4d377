#include "differential/node.h"

#include <fmt/format.h>

namespace nnd::differential {

namespace {

std::string text(const char* key, const std::string& value) {
  return fmt::format("{} = \"{}\"\n", key, value);
}

std::string given(const char* key, const std::string& value) {
  return value.empty() ? std::string() : text(key, value);
}

std::string port_toml(const Port& port, std::size_t number) {
  std::string out = fmt::format(
      "[[host.hca.port]]\nnumber = {}\nspeed_mbps = {}\nwidth = {}\nmtu = {}\ngid_table = {}\n",
      number, port.speed_mbps, port.width, port.mtu, port.gid_table);
  out += text("state", port.state) + text("link_layer", port.link_layer);
  out += "pkeys = [\"0xffff\"";
  for (int i = 1; i < port.pkeys; ++i) out += fmt::format(", \"0x{:04x}\"", 0x8000 + i);
  out += "]\n";
  if (!port.addresses.empty())
    out += fmt::format("address = [\"{}\"]\n", fmt::join(port.addresses, "\", \""));
  for (const Gid& gid : port.gids)
    out += fmt::format("[[host.hca.port.gids]]\nindex = {}\n", gid.index) +
           text("gid", gid.address) + text("type", gid.type);
  return out;
}

std::string hca_toml(const Hca& hca) {
  std::string out = "\n[[host.hca]]\n" + text("name", hca.name) + text("look", hca.look);
  out += text("pci", hca.pci);
  out += given("parent", hca.parent) + given("physfn", hca.physfn) +
         given("sys_image_guid", hca.sys_image_guid) + given("subnet_prefix", hca.subnet_prefix) +
         given("dmabuf_errno", hca.dmabuf_errno) + given("open_errno", hca.open_errno) +
         given("data_direct", hca.data_direct);
  out +=
      fmt::format("numa = {}\nmax_qp = {}\nports = {}\n", hca.numa, hca.max_qp, hca.ports.size());
  for (std::size_t i = 0; i < hca.ports.size(); ++i) out += port_toml(hca.ports[i], i + 1);
  return out;
}

}  // namespace

std::string Node::toml() const {
  std::string files;
  for (const auto& [path, content] : sysfs)
    files += fmt::format("\"{}\" = \"{}\"\n", path, content);
  for (const Hca& hca : hcas)
    for (std::size_t i = 0; i < hca.ports.size(); ++i) {
      const std::string dir =
          fmt::format("class/infiniband/{}/ports/{}/gid_attrs/types", hca.name, i + 1);
      if (hca.ports[i].no_types) {
        files += fmt::format("\"{}\" = false\n", dir);
        continue;
      }
      for (const Gid& gid : hca.ports[i].gids)
        if (gid.unreadable) files += fmt::format("\"{}/{}\" = \"\"\n", dir, gid.index);
    }
  std::string out = "resolve_timeout_ms = 20\n\n[[host]]\n" + text("name", "node{h}");
  if (hosts > 1) out += fmt::format("count = {}\n", hosts);
  for (const Hca& hca : hcas) out += hca_toml(hca);
  for (const Gpu& gpu : gpus)
    out += "\n[[host.gpu]]\n" + text("pci", gpu.pci) + text("parent", gpu.parent);
  if (!files.empty()) out += "\n[host.sysfs]\n" + files;
  return out;
}

}  // namespace nnd::differential

#include "verdict/fabric.h"

#include <fmt/format.h>

namespace nnd::verdict {

std::string Fabric::hca_name(int hca) const { return fmt::format("mlx5_{}", hca); }

std::string Fabric::address(int host, int hca) const {
  return fmt::format("10.{}.{}.{}/24", net, hca, host + 1);
}

std::string Fabric::address_in_effect(int host, int hca) const {
  const auto change = changes.find({host, hca});
  const bool moved = change != changes.end() && !change->second.address.empty();
  return moved ? change->second.address : address(host, hca);
}

std::string Fabric::toml() const {
  std::string out = "resolve_timeout_ms = 20\n";
  for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
    out += fmt::format("[[host]]\nname = \"{}\"\nnvswitch = true\n",
                       hosts[static_cast<std::size_t>(host)]);
    std::string own = front;
    for (std::size_t at = 0; (at = own.find("HOST", at)) != std::string::npos;)
      own.replace(at, 4, std::to_string(host + 1));
    out += own;
    for (int i = 0; i < hcas; ++i) {
      const auto change = changes.find({host, i});
      const bool changed = change != changes.end();
      out += fmt::format(
          "[[host.hca]]\nname = \"{0}\"\nnetdev = \"eth{1}\"\naddress = \"{2}\"\n"
          "speed_mbps = 200000\npci = \"0000:{3:x}3:00.0\"\n"
          "parent = \"0000:{3:x}0:01.0/0000:{3:x}1:00.0/0000:{3:x}2:00.0\"\n{4}",
          hca_name(i), i, address_in_effect(host, i), i + 1, changed ? change->second.keys : "");
    }
    for (int gpu = 0; gpu < gpus; ++gpu)
      out += fmt::format(
          "[[host.gpu]]\npci = \"0000:{0:x}4:00.0\"\n"
          "parent = \"0000:{0:x}0:01.0/0000:{0:x}1:00.0/0000:{0:x}2:01.0\"\n",
          hca_of(gpu) + 1);
    // GPUDirect: without it every HCA is as near as the next.
    out +=
        "[host.sysfs]\n\"kernel/mm/memory_peers/nv_mem/version\" = \"550.54\"\n"
        "\"module/nvidia_peermem/version\" = \"550.54\"\n";
  }
  if (routed)
    out += fmt::format("[[route]]\nfrom = \"10.{0}.0.0/16\"\nto = \"10.{0}.0.0/16\"\n", net);
  return out + faults;
}

}  // namespace nnd::verdict

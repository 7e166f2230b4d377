#include <functional>

#include "differential/run.h"

namespace nnd::differential {

namespace {

// Every way to take one thing away from a node, the large ones first.
std::vector<std::function<void(Node&)>> steps(const Node& node) {
  std::vector<std::function<void(Node&)>> out;
  for (std::size_t h = node.hcas.size(); h-- > 0;)
    out.emplace_back([h](Node& n) { n.hcas.erase(n.hcas.begin() + static_cast<long>(h)); });
  for (const auto& [name, value] : node.environment)
    out.emplace_back([name = name](Node& n) { n.environment.erase(name); });
  for (const auto& [path, content] : node.sysfs)
    out.emplace_back([path = path](Node& n) { n.sysfs.erase(path); });
  for (std::size_t h = 0; h < node.hcas.size(); ++h) {
    const auto plain = [&](std::string Hca::*member) {
      if (!(node.hcas[h].*member).empty())
        out.emplace_back([h, member](Node& n) { (n.hcas[h].*member).clear(); });
    };
    for (const auto member : {&Hca::physfn, &Hca::sys_image_guid, &Hca::subnet_prefix,
                              &Hca::dmabuf_errno, &Hca::open_errno, &Hca::data_direct})
      plain(member);
    const Hca& hca = node.hcas[h];
    for (std::size_t p = hca.ports.size(); p-- > 0;) {
      const Port& port = hca.ports[p];
      if (hca.ports.size() > 1)
        out.emplace_back([h, p](Node& n) {
          n.hcas[h].ports.erase(n.hcas[h].ports.begin() + static_cast<long>(p));
        });
      for (std::size_t g = port.gids.size(); g-- > 0;)
        out.emplace_back([h, p, g](Node& n) {
          auto& gids = n.hcas[h].ports[p].gids;
          gids.erase(gids.begin() + static_cast<long>(g));
        });
      for (std::size_t a = port.addresses.size(); a-- > 0;)
        out.emplace_back([h, p, a](Node& n) {
          auto& addresses = n.hcas[h].ports[p].addresses;
          addresses.erase(addresses.begin() + static_cast<long>(a));
        });
      if (port.no_types) out.emplace_back([h, p](Node& n) { n.hcas[h].ports[p].no_types = false; });
      if (port.state != "active")
        out.emplace_back([h, p](Node& n) { n.hcas[h].ports[p].state = "active"; });
    }
  }
  return out;
}

bool still_differs(const Node& node, const std::string& nccl, unsigned device,
                   const std::string& rules) {
  try {
    return !differences(node, nccl, device, rules).empty();
  } catch (const std::exception&) {
    return false;  // no scenario any more
  }
}

}  // namespace

Node minimise(Node node, const std::string& nccl, unsigned device, const std::string& rules) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const auto& step : steps(node)) {
      Node candidate = node;
      step(candidate);
      if (!still_differs(candidate, nccl, device, rules)) continue;
      node = std::move(candidate);
      smaller = true;
      break;
    }
  }
  return node;
}

}  // namespace nnd::differential

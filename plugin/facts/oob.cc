#include "facts/oob.h"

#include <fmt/format.h>

namespace nnd::facts {

namespace {

constexpr int kNewest = 0;  // interface lists are read as HCA lists are, in every version

bool runs(const NetDev& dev) { return dev.operstate == "up" || dev.operstate == "unknown"; }

bool loopback6(const IpAddress& address) {
  return address.family == Family::kIpv6 && address.text() == "::1";
}

class Finder {
 public:
  Finder(const Network& network, const Environment& environment) : network_(network) {
    const std::string* family = environment.get("NCCL_SOCKET_FAMILY");
    if (family && *family == "AF_INET") only_ = Family::kIpv4;
    if (family && *family == "AF_INET6") only_ = Family::kIpv6;
  }

  // The first interface that the list takes.
  bool by_list(const std::string& list, std::string why, OobPick& out) const {
    const HcaFilter filter = HcaFilter::parse(&list, kNewest);
    return first([&](const NetDev& dev, const IpPrefix&) { return filter.takes(dev.name, -1); },
                 std::move(why), out);
  }

  // `id` is NCCL_COMM_ID: "10.1.0.11:4711", "[fd00::1]:4711".
  bool by_subnet(const std::string& id, OobPick& out) const {
    const bool bracket = id.starts_with('[');
    const auto address =
        parse_address(bracket ? id.substr(1, id.find(']') - 1) : id.substr(0, id.rfind(':')));
    return address &&
           first([&](const NetDev&, const IpPrefix& own) { return own.contains(*address); },
                 "in the subnet of NCCL_COMM_ID", out);
  }

 private:
  template <typename Fits>
  bool first(Fits fits, std::string why, OobPick& out) const {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      if (only_ != Family::kNone && only_ != family) continue;
      for (const NetDev& dev : network_.devs)
        for (const IpPrefix& own : dev.addresses)
          if (own.address.family == family && runs(dev) && !loopback6(own.address) &&
              fits(dev, own)) {
            out = {dev.name, own.address.text(), std::move(why)};
            return true;
          }
    }
    return false;
  }

  const Network& network_;
  Family only_ = Family::kNone;
};

}  // namespace

OobPick pick_oob(const Network& network, const Environment& environment) {
  OobPick out;
  const Finder finder(network, environment);
  const std::string* named = environment.get("NCCL_SOCKET_IFNAME");
  if (named && named->size() > 1) {
    if (!finder.by_list(*named, fmt::format("NCCL_SOCKET_IFNAME={}", *named), out))
      out.why = fmt::format("no running interface fits NCCL_SOCKET_IFNAME={}", *named);
    return out;
  }
  if (finder.by_list("ib", "an interface named ib*", out)) return out;
  const std::string* id = environment.get("NCCL_COMM_ID");
  if (id && id->size() > 1 && finder.by_subnet(*id, out)) return out;
  if (finder.by_list("^docker,lo,virbr", "the first interface that is no docker, lo or virbr", out))
    return out;
  for (const char* last : {"docker", "lo", "virbr"})
    if (finder.by_list(last, "nothing better is there", out)) return out;
  out.why = network.known ? "no interface has an address" : "the interfaces are not known";
  return out;
}

}  // namespace nnd::facts

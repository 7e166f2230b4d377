#include "report/bandwidth.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "log/bus_factors.h"
#include "report/robust.h"

namespace nnd::report {

namespace {

class Collected {
 public:
  using Key = std::tuple<std::string, std::string, std::uint64_t>;  // communicator, function, bytes

  void add(const Key& key, const std::string& name, std::optional<int> nranks,
           const log::Busy& busy) {
    if (busy.ns == 0 || busy.bytes == 0) return;
    One& one = all_[key];
    if (one.of.name.empty()) one.of.name = name;
    if (nranks) one.of.nranks = nranks;
    one.speeds.push_back(static_cast<double>(busy.bytes) / static_cast<double>(busy.ns));
    if (busy.calls <= one.of.calls) return;
    one.of.calls = busy.calls;
    one.of.sec = static_cast<double>(busy.ns) / 1e9;
  }

  std::vector<Bandwidth> take() {
    std::vector<Bandwidth> out;
    for (auto& [key, one] : all_) {
      Bandwidth& of = one.of;
      std::tie(of.comm, of.collective, of.least_bytes) = key;
      of.ranks = one.speeds.size();
      of.algorithm = median(one.speeds);
      // What an operation moves in all is known by the number of ranks only.
      if (of.nranks.value_or(0) > 1)
        if (const auto factors = log::bus_factors(of.collective, *of.nranks)) {
          of.algorithm *= factors->data;
          of.bus = of.algorithm * factors->bus;
        }
      out.push_back(std::move(of));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Bandwidth& a, const Bandwidth& b) { return a.sec > b.sec; });
    return out;
  }

 private:
  struct One {
    Bandwidth of;
    std::vector<double> speeds;  // bytes a ns
  };
  std::map<Key, One> all_;
};

std::optional<std::int64_t> speed_of(const log::Process& process, const log::Dev& dev) {
  if (dev.speed_mbps) return dev.speed_mbps;
  for (const log::Hca& hca : process.hcas)
    if (hca.dev.name == dev.name && (!dev.port || hca.dev.port == dev.port))
      return hca.dev.speed_mbps;
  return std::nullopt;
}

// Of one node, by HCA and port, in Mbit/s.
using BytesByPort = std::map<std::pair<std::string, int>, std::int64_t>;

class Used {
 public:
  Used(const Picture& picture, const std::string& comm) : picture_(picture) {
    for (std::size_t i = 0; i < picture.members.size(); ++i)
      if (picture.members[i].log->communicators.contains(comm)) add(i);
  }

  void tell(Bandwidth& of) const {
    if (ports_.size() < 2 || unknown_) return;
    for (const auto& [host, ports] : ports_) {
      double bytes = 0;  // GB/s
      for (const auto& [port, mbps] : ports) bytes += static_cast<double>(mbps) / 8e3;
      if (bytes > 0) of.ports = std::min(of.ports.value_or(bytes), bytes);
    }
    of.through_host = through_host_;
  }

 private:
  void add(std::size_t member) {
    const log::Process& process = *picture_.members[member].log;
    BytesByPort& ports = ports_[picture_.members[member].host];
    for (const auto& [number, one] : process.connections) {
      if (one.dev.name.empty() || one.bytes.value_or(0) == 0) continue;
      const auto mbps = speed_of(process, one.dev);
      unknown_ = unknown_ || !mbps;
      ports[{one.dev.name, one.dev.port.value_or(1)}] = mbps.value_or(0);
      if (const auto way = process.gdr.find(one.dev.name);
          way != process.gdr.end() && way->second == "none")
        through_host_.insert(picture_.host_of(member).name);
    }
  }

  const Picture& picture_;
  std::map<std::size_t, BytesByPort> ports_;  // by host
  std::set<std::string> through_host_;
  bool unknown_ = false;
};

}  // namespace

std::vector<Bandwidth> bandwidths_of(const Picture& picture) {
  Collected collected;
  for (const auto& member : picture.members)
    for (const auto& [comm, communicator] : member.log->communicators)
      for (const auto& [call, busy] : communicator.busy)
        if (!picture.several.contains(comm))
          collected.add({comm, call.kind, call.bytes}, communicator.name, communicator.nranks,
                        busy);
  auto out = collected.take();
  std::map<std::string, Used> used;
  for (Bandwidth& one : out) used.try_emplace(one.comm, picture, one.comm).first->second.tell(one);
  return out;
}

std::vector<Bandwidth> bandwidths_of(const std::vector<foreign::Inspected>& inspected) {
  Collected collected;
  for (const auto& one : inspected)
    collected.add({one.comm, one.collective, one.least_bytes}, one.name, one.nranks, one.busy);
  return collected.take();
}

}  // namespace nnd::report

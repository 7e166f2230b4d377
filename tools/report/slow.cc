#include "report/slow.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "report/robust.h"

namespace nnd::report {

namespace {

// As strict as the watch in each process: a warning must be worth somebody's time.
constexpr double kLeastUs = 1000;
constexpr std::uint64_t kFewestRequests = 64;

struct Port {
  Place place;
  std::uint64_t requests = 0, bytes = 0;
  double sum_ns = 0;

  double us() const { return sum_ns / static_cast<double>(requests) / 1000; }
  double size() const { return static_cast<double>(bytes) / static_cast<double>(requests); }
};

// Each request counted as the middle of its bucket, as in the logs.
log::Latency latency_of(const nccl_net_diag::box::ConnSlot& slot) {
  log::Latency out;
  for (std::size_t bucket = 0; bucket < std::size(slot.latency); ++bucket) {
    out.requests += slot.latency[bucket];
    out.sum_ns +=
        static_cast<double>(slot.latency[bucket]) * std::ldexp(1.5, static_cast<int>(bucket));
  }
  return out;
}

std::vector<Port> ports_of(const Picture& picture) {
  std::map<Place, Port> all;
  std::set<Place> told;  // by one process
  const auto add_to = [&](const Place& place, const log::Latency& latency, std::uint64_t bytes) {
    Port& port = all[place];
    port.place = place;
    port.requests += latency.requests;
    port.sum_ns += latency.sum_ns;
    port.bytes += bytes;
    told.insert(place);
  };
  const auto add = [&](std::size_t member, const log::Connection& connection,
                       const log::Latency& latency, std::uint64_t bytes) {
    if (connection.dir == log::Direction::kSend && latency.requests != 0)
      add_to(picture.place_of(member, connection.dev), latency, bytes);
  };
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    told.clear();
    const auto& connections = picture.members[i].log->connections;
    for (const auto& [number, connection] : connections)
      add(i, connection, connection.latency, connection.bytes.value_or(0));
    if (picture.members[i].box != nullptr)
      for (const auto& slot : picture.members[i].box->conns)  // which have not come to conn.close
        if (const auto open = connections.find(slot.conn);
            open != connections.end() && open->second.latency.requests == 0)
          add(i, open->second, latency_of(slot), slot.bytes);
    // Who ended with all open has neither, but for the worst of each port.
    const auto& summary = picture.members[i].log->summary;
    if (!summary) continue;
    for (const auto& sends : summary->ports) {
      log::Dev dev;
      dev.name = sends.name;
      dev.port = sends.port;
      const Place place = picture.place_of(i, dev);
      if (sends.slowest_us > 0 && !told.contains(place))
        add_to(place,
               {sends.completed, sends.slowest_us * 1000 * static_cast<double>(sends.completed)},
               sends.bytes);
    }
  }
  std::vector<Port> out;
  for (auto& [place, port] : all)
    if (port.requests >= kFewestRequests) out.push_back(std::move(port));
  return out;
}

// Those with messages alike.
void add_outliers(std::vector<Slow>& out, const std::vector<Port>& ports) {
  if (ports.size() < kFewestPorts) return;
  std::vector<double> sizes, times;
  for (const auto& port : ports) sizes.push_back(port.size());
  const double size = median(sizes);
  std::vector<const Port*> alike;
  for (const auto& port : ports)
    if (port.size() <= 2 * size && 2 * port.size() >= size) {
      alike.push_back(&port);
      times.push_back(std::max(port.us(), 0.001));
    }
  if (alike.size() < kFewestPorts) return;
  const Usual usual = usual_of(times);
  // Few ports that differ among themselves hide one that is far beyond all of them.
  const auto slowest = std::max_element(times.begin(), times.end());
  auto others = times;
  others.erase(others.begin() + (slowest - times.begin()));
  const bool is_beyond = *slowest >= kTimesUsual * *std::max_element(others.begin(), others.end());
  const auto beyond_all =
      is_beyond ? static_cast<std::size_t>(slowest - times.begin()) : times.size();
  const Usual of_others = usual_of(others);
  for (std::size_t i = 0; i < alike.size(); ++i) {
    const Usual& compared = i == beyond_all ? of_others : usual;
    const double us = alike[i]->us(), usual_us = compared.value(), effect = compared.effect(us);
    if (us < kTimesUsual * usual_us || us < kLeastUs || effect < kFewestDeviations) continue;
    Slow slow;
    slow.place = alike[i]->place;
    slow.us = us;
    slow.usual_us = usual_us;
    slow.requests = alike[i]->requests;
    slow.ports = alike.size();
    slow.effect = effect;
    out.push_back(std::move(slow));
  }
}

void add_told(std::vector<Slow>& out, const Picture& picture) {
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& stall : picture.members[i].log->stalls) {
      if (stall.kind != "slow") continue;
      const Place place = picture.place_of(i, stall.told.dev);
      const auto known =
          std::find_if(out.begin(), out.end(), [&](const Slow& one) { return one.place == place; });
      if (known != out.end()) {
        known->told = &stall;
        known->member = i;
        continue;
      }
      Slow slow;
      slow.place = place;
      slow.us = stall.mean_us.value_or(0);
      slow.usual_us = stall.usual_us.value_or(0);
      slow.told = &stall;
      slow.member = i;
      out.push_back(std::move(slow));
    }
}

}  // namespace

std::vector<Slow> slow_ports(const Picture& picture) {
  std::vector<Slow> out;
  add_outliers(out, ports_of(picture));
  add_told(out, picture);
  std::stable_sort(out.begin(), out.end(), [](const Slow& a, const Slow& b) {
    return a.us * b.usual_us > b.us * a.usual_us;
  });
  return out;
}

}  // namespace nnd::report

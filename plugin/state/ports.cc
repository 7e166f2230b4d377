#include "state/ports.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "state/connections.h"

namespace nnd::state {

namespace {

struct Histories {
  context::ForkMutex mutex;
  std::map<std::pair<std::string, unsigned>, PortHistory> ports;
  std::string missing_rail;
};

Histories& histories() {
  static context::Immortal<Histories> instance;
  [[maybe_unused]] static const bool watched =
      (context::in_forked_child(forget_port_histories), true);
  return *instance;
}

template <class F>
auto with_history(const std::string& device, unsigned port, F&& change) {
  Histories& all = histories();
  const std::lock_guard guard(all.mutex);
  return change(all.ports[{device, port}]);
}

template <class T>
void add_once(std::vector<T>& all, const T& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

}  // namespace

const PortHistory::Lost* PortHistory::find_lost(const context::Gid& gid) const {
  const auto found =
      std::find_if(lost.begin(), lost.end(), [&](const Lost& one) { return one.gid == gid; });
  return found == lost.end() ? nullptr : &*found;
}

void note_missing_rail(const std::string& place) {
  Histories& all = histories();
  const std::lock_guard guard(all.mutex);
  all.missing_rail = place;
}

std::string missing_rail() {
  Histories& all = histories();
  const std::lock_guard guard(all.mutex);
  return all.missing_rail;
}

void port_went_down(const std::string& device, unsigned port, std::uint64_t mono_ns) {
  with_history(device, port, [&](PortHistory& history) {
    history.down = true;
    ++history.downs;
    history.down_ns = mono_ns;
  });
}

std::uint64_t port_came_up(const std::string& device, unsigned port, std::uint64_t mono_ns) {
  return with_history(device, port, [&](PortHistory& history) -> std::uint64_t {
    history.up_ns = mono_ns;
    return std::exchange(history.down, false) ? mono_ns - history.down_ns : 0;
  });
}

void gid_went(const std::string& device, unsigned port, const context::Gid& gid,
              std::uint64_t mono_ns) {
  with_history(device, port, [&](PortHistory& history) {
    std::erase_if(history.lost, [&](const PortHistory::Lost& one) { return one.gid == gid; });
    history.lost.push_back({gid, mono_ns, false});
  });
}

void gid_came(const std::string& device, unsigned port, const context::Gid& gid) {
  with_history(device, port, [&](PortHistory& history) {
    for (PortHistory::Lost& one : history.lost) one.back = one.back || one.gid == gid;
  });
}

std::vector<DownPort> ports_down() {
  Histories& all = histories();
  const std::lock_guard guard(all.mutex);
  std::vector<DownPort> out;
  for (const auto& [place, history] : all.ports)
    if (history.down) out.push_back({place.first, place.second, history.down_ns});
  return out;
}

PortHistory history_of(const std::string& device, unsigned port) {
  return with_history(device, port, [](const PortHistory& history) { return history; });
}

void forget_port_histories() noexcept {
  Histories& all = histories();
  const std::lock_guard guard(all.mutex);
  all.ports.clear();
}

PortUsers users_of(std::string_view device, unsigned port) {
  PortUsers out;
  std::set<context::Gid> peers;  // a job may have ten thousand
  for_each_connection([&](const Connection& c) {
    ConnectionEnds ends;
    Identity about;
    if (!c.ends.get(ends) || !c.identity.get(about) || ends.port == 0) return;
    if (std::string_view(ends.device) != device || (port != 0 && ends.port != port)) return;
    ++out.connections;
    if (out.first.id == 0 || about.id < out.first.id) out.first = about;
    if (!context::gid_zero(ends.remote_gid) && peers.insert(ends.remote_gid).second)
      out.peers.push_back(ends.remote_gid);
    if (ends.gid_index >= 0) add_once(out.sources, {ends.port, ends.gid_index, ends.gid});
  });
  return out;
}

}  // namespace nnd::state

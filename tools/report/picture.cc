#include "report/picture.h"

#include <algorithm>
#include <set>

#include "log/natural_order.h"
#include "report/clocks.h"
#include "report/runs.h"

namespace nnd::report {

namespace {

Ending ending_of(const log::Process& process, const Box* box) {
  if (process.summary) return Ending::kClean;
  if (box != nullptr) return box->living ? Ending::kRunning : Ending::kDied;
  return Ending::kCutOff;
}

void add_members(Picture& picture, const Input& input, const Run& run) {
  const std::set<const log::Process*> wanted(run.begin(), run.end());
  for (const auto* process : input.job.processes()) {
    if (!wanted.contains(process)) continue;
    Member member;
    member.log = process;
    if (const auto box = input.boxes.find(process->proc); box != input.boxes.end())
      member.box = &box->second;
    if (const auto file = input.files.find(process->proc); file != input.files.end())
      member.file = file->second;
    member.ending = ending_of(*process, member.box);
    member.rank = process->rank;
    const int said = std::max(process->launch.world_size.value_or(0), process->ranks_told);
    if (said > 0) picture.world_size = std::max(picture.world_size.value_or(0), said);
    for (const auto& [comm, one] : process->communicators) {
      if (one.several) picture.several.insert(comm);
      if (one.rank)
        picture.by_comm_rank.emplace(std::pair(comm, *one.rank), picture.members.size());
    }
    picture.by_proc[process->proc] = picture.members.size();
    picture.members.push_back(std::move(member));
  }
  std::erase_if(picture.by_comm_rank,
                [&](const auto& one) { return picture.several.contains(one.first.first); });
}

void add_hosts(Picture& picture) {
  std::map<std::string, std::size_t> by_name;
  for (const auto& member : picture.members) by_name.emplace(member.log->host, 0);
  for (auto& [name, index] : by_name) picture.hosts.push_back({name, {}, 0, 0, false});
  std::sort(picture.hosts.begin(), picture.hosts.end(),
            [](const Host& a, const Host& b) { return log::natural_less(a.name, b.name); });
  for (std::size_t i = 0; i < picture.hosts.size(); ++i) by_name[picture.hosts[i].name] = i;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    Member& member = picture.members[i];
    member.host = by_name[member.log->host];
    picture.hosts[member.host].members.push_back(i);
  }
}

// Where an HCA has but one port, its name says all.
int port_of(const log::Process& process, const log::Dev& dev) {
  if (!dev.port) return 0;
  for (const auto& hca : process.hcas)
    if (hca.verdict == "taken" && hca.dev.name == dev.name && hca.dev.port &&
        hca.dev.port != dev.port)
      return *dev.port;
  return 0;
}

void add_addresses(Picture& picture) {
  std::set<std::string> of_several;
  for (const auto& member : picture.members)
    for (const auto& hca : member.log->hcas) {
      if (hca.dev.gid.empty()) continue;
      const Place place{member.log->host, hca.dev.name, hca.dev.subnet,
                        port_of(*member.log, hca.dev)};
      const auto [found, is_new] = picture.by_gid.emplace(hca.dev.gid, place);
      if (!is_new && (found->second.host != place.host || found->second.dev != place.dev ||
                      found->second.port != place.port))
        of_several.insert(hca.dev.gid);
    }
  for (const auto& gid : of_several) picture.by_gid.erase(gid);
}

void add_listeners(Picture& picture) {
  if (std::none_of(picture.members.begin(), picture.members.end(),
                   [](const Member& one) { return !one.log->closed.empty(); }))
    return;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const std::string& address : picture.members[i].log->listens_at)
      picture.by_listener.emplace(address, i);
}

void add_times(Picture& picture) {
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    Member& member = picture.members[i];
    member.first = picture.at(i, member.log->first_ns);
    const std::uint64_t alive =
        member.box != nullptr && member.ending != Ending::kClean ? member.box->alive_ns : 0;
    member.last = picture.at(i, std::max(member.log->last_ns, alive));
    picture.first = i == 0 ? member.first : std::min(picture.first, member.first);
    picture.last = i == 0 ? member.last : std::max(picture.last, member.last);
  }
}

// Reading takes time: a process is as silent as it was when its box was read, not when the last one
// was. The reader's clock and the job's are compared by who was read soonest after its sign of
// life.
void add_silences(Picture& picture) {
  std::optional<Ns> apart;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    if (const Member& member = picture.members[i]; member.ending == Ending::kRunning) {
      const Ns own = member.box->done_ns - picture.at(i, member.box->alive_ns);
      apart = std::min(apart.value_or(own), own);
    }
  for (auto& member : picture.members)
    if (member.ending == Ending::kRunning)
      member.silent = member.box->began_ns - member.last - *apart;
}

// Who was stopped, or lost with its node, left its TCP connections open and no sign of life.
void add_silences_of_dead(Picture& picture) {
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const log::Stall& stall : picture.members[i].log->stalls) {
      if (stall.peer_tcp != "open") continue;
      const auto peer = picture.peer_of(i, stall.told.peer, stall.told.conn, stall.link);
      if (!peer || picture.members[*peer].ending != Ending::kDied) continue;
      Member& other = picture.members[*peer];
      const Ns seen = picture.at(i, stall.told.mono_ns) - clocks_apart(picture, i, *peer);
      other.silent = std::max(other.silent, seen - other.last);
    }
}

const log::Connection* connection_of(const Member& member, std::optional<std::uint64_t> number) {
  if (!number) return nullptr;
  const auto found = member.log->connections.find(*number);
  return found != member.log->connections.end() ? &found->second : nullptr;
}

}  // namespace

Ns Picture::at(std::size_t member, std::uint64_t mono_ns) const {
  return static_cast<Ns>(mono_ns) + members[member].log->clock_ns - host_of(member).ahead;
}

std::optional<std::size_t> Picture::peer_of(std::size_t member, const log::Peer& peer,
                                            std::optional<std::uint64_t> conn,
                                            const log::Link& link) const {
  const auto by = [&](const std::string& proc) -> std::optional<std::size_t> {
    const auto found = by_proc.find(proc);
    if (found == by_proc.end() || found->second == member) return std::nullopt;
    return found->second;
  };
  if (const auto found = by(peer.proc)) return found;
  if (const auto* connection = connection_of(members[member], conn)) {
    if (const auto end = ends.find(connection); end != ends.end())
      if (const auto found = by(end->second.process->proc)) return found;
    if (const auto found = by(connection->peer.proc)) return found;
    if (const auto found = by(connection->link.proc)) return found;
  }
  return by(link.proc);
}

std::optional<std::size_t> Picture::listener_at(std::size_t member,
                                                const std::string& address) const {
  std::optional<std::size_t> out;
  const auto range = by_listener.equal_range(address);
  for (auto at = range.first; at != range.second; ++at) {
    if (at->second == member) continue;
    if (out && *out != at->second) return std::nullopt;
    out = at->second;
  }
  return out;
}

Place Picture::place_of(std::size_t member, const log::Dev& dev) const {
  const auto& process = *members[member].log;
  Place out{process.host, dev.name, dev.subnet, port_of(process, dev)};
  // A failure names the HCA and often not its address.
  if (out.subnet.empty())
    for (const auto& hca : process.hcas)
      if (hca.dev.name == dev.name && (out.port == 0 || hca.dev.port == out.port))
        out.subnet = hca.dev.subnet;
  return out;
}

Place Picture::peer_place(std::size_t member, const log::Peer& peer,
                          std::optional<std::uint64_t> conn) const {
  const auto* connection = connection_of(members[member], conn);
  std::string gid = peer.gid;
  if (gid.empty() && connection != nullptr) gid = connection->peer.gid;
  if (const auto found = by_gid.find(gid); found != by_gid.end()) return found->second;
  if (connection != nullptr)
    if (const auto end = ends.find(connection); end != ends.end())
      if (const auto found = by_proc.find(end->second.process->proc); found != by_proc.end())
        return place_of(found->second, end->second.connection->dev);
  Place out{peer.host, peer.dev, peer.subnet, 0};
  if (out.host.empty())
    if (const auto other = peer_of(member, peer, conn)) out.host = members[*other].log->host;
  return out;
}

Picture picture_of(const Input& input, std::optional<std::size_t> run) {
  Picture out;
  const auto runs = runs_of(input.job);
  if (runs.empty()) return out;
  const std::size_t chosen = std::min(run.value_or(runs.size() - 1), runs.size() - 1);
  out.earlier_runs = chosen;
  for (std::size_t i = 0; i < chosen; ++i) out.earlier_processes += runs[i].size();
  add_members(out, input, runs[chosen]);
  add_hosts(out);
  add_addresses(out);
  add_listeners(out);
  out.ends = input.job.ends();
  compare_clocks(out);
  add_times(out);
  add_silences(out);
  add_silences_of_dead(out);
  return out;
}

}  // namespace nnd::report

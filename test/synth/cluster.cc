#include "synth/cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnd::synth {

Cluster::Cluster(const Spec& of) : spec(of), random(of.seed), two_ports(of.fault == Fault::kPort) {
  name_all();
  for (int node = 0; node < node_count(); ++node) {
    mono.push_back(between(1000 * kSec, 900'000 * kSec));
    const auto off = static_cast<Ns>(spec.clocks_sec * 1e9);
    wrong.push_back((off == 0 ? 0 : between(-off, off)) - spec.hours_ago * 3600 * kSec);
  }
  for (int rank = 0; rank < spec.ranks; ++rank)
    logs.emplace_back(Identity{host(rank), static_cast<std::uint32_t>(1000 + rank), random() | 1,
                               mono[at(node_of(rank))], wrong[at(node_of(rank))]});
  ends.assign(at(spec.ranks), kEnd);
  clean.assign(at(spec.ranks), true);
  conns.assign(at(spec.ranks), 0);
  failures.assign(at(spec.ranks), 0);
  make_links();
}

Ns Cluster::between(Ns least, Ns most) {
  return std::uniform_int_distribution<Ns>(least, most)(random);
}

std::string Cluster::dev(int rank) const {
  return fmt::format("{}{}", spec.shuffled ? "ibp1s" : "mlx5_", rail(rank) / (two_ports ? 2 : 1));
}

std::string Cluster::port_name(int rank) const {
  return fmt::format("{}:{}", dev(rank), port(rank));
}

// Rails 0 to 3 and 4 to 7 are neighbours: the two planes of the plan.
std::string Cluster::address(int rank) const {
  return fmt::format("10.{}.{}.{}", rank == stray ? 200 : 100 + rail(rank), node_of(rank) / 200,
                     node_of(rank) % 200 + 1);
}

std::string Cluster::subnet(int rank) const {
  return fmt::format("10.{}.0.0/16", rank == stray ? 200 : 100 + rail(rank));
}

// Ranks and hosts in any order.
void Cluster::name_all() {
  for (int rank = 0; rank < spec.ranks; ++rank) labels.push_back(rank);
  for (int node = 0; node < node_count(); ++node)
    names.push_back(spec.shuffled ? fmt::format("gpu-{:04}.pod{}.example", 7 * node, node % 3)
                                  : fmt::format("node{}", node));
  if (!spec.shuffled) return;
  std::shuffle(labels.begin(), labels.end(), random);
  std::shuffle(names.begin(), names.end(), random);
}

void Cluster::make_links() {
  const int nodes = node_count();
  std::vector<int> steps{1};
  if (nodes > 2) steps.push_back(2);
  if (nodes > 6) steps.push_back(nodes / 2);
  for (int i = 0; i < spec.more_connections; ++i) steps.push_back(1 + i % std::max(1, nodes - 1));
  for (int rank = 0; rank < spec.ranks; ++rank)
    for (const int step : steps) {
      const int to = (node_of(rank) + step) % nodes * kPerNode + rail(rank);
      if (to >= spec.ranks || to == rank) continue;
      Link link;
      link.from = rank;
      link.to = to;
      link.listen = ++listens[to];
      link.send_conn = ++conns[at(rank)];
      link.recv_conn = ++conns[at(to)];
      link.send_qp = static_cast<std::uint32_t>(1000 + links.size() * 2);
      link.recv_qp = link.send_qp + 1;
      links.push_back(link);
    }
}

}  // namespace nnd::synth

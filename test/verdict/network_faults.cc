// Faults of the network, of HCAs and of a node's set-up.
#include <fmt/format.h>

#include "verdict/faults.h"

namespace nnd::verdict {

using softcuda::Action;

namespace {

struct Place {
  int node, hca;  // one that carries traffic
};

std::string host(const Case& one, int node) {
  return one.fabric.hosts[static_cast<std::size_t>(node)];
}

Place draw_place(Case& one, Dice& dice) {
  const Place out{dice.below(one.nodes), one.fabric.hca_of(dice.below(one.gpus))};
  one.truth.network = Network::kGuilty;
  one.truth.nodes = {out.node};
  one.truth.hcas = {one.fabric.hca_name(out.hca)};
  return out;
}

std::string hca_text(const Case& one, const Place& at) {
  return fmt::format("{} of {}", one.fabric.hca_name(at.hca), host(one, at.node));
}

std::string where(const Case& one, const Place& at) {
  return fmt::format("host = \"{}\"\nhca = \"{}\"\n", host(one, at.node),
                     one.fabric.hca_name(at.hca));
}

void plain(Case& one, Dice& dice) { compose(one, draw_program(dice), -1, {}); }

void from_start(Case& one, Dice& dice) {
  one.moment = Moment::kBeforeConnection;
  plain(one, dice);
}

// Packets that are lost are told within a second: else NCCL's retries last for half a minute.
void impatient(Case& one) {
  one.environment["NCCL_IB_TIMEOUT"] = "14";
  one.environment["NCCL_IB_RETRY_CNT"] = "2";
}

int messages(Case& one, Dice& dice) {
  one.moment = dice.of(std::vector<Moment>{Moment::kEarly, Moment::kMidCollective});
  return one.moment == Moment::kEarly ? dice.between(1, 8) : dice.between(9, 40);
}

void swapped(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  const int other = (at.hca + 1 + dice.below(one.fabric.hcas - 1)) % one.fabric.hcas;
  one.fabric.changes[{at.node, at.hca}].address = one.fabric.address(at.node, other);
  one.fabric.changes[{at.node, other}].address = one.fabric.address(at.node, at.hca);
  one.fabric.routed = false;
  one.truth.hcas.insert(one.fabric.hca_name(other));
  one.truth.says = {"subnet", "swapped", "rail", "address"};
  one.truth.tells_from_nodes = 3;
  one.truth.words = fmt::format("{} has the rails of {} and {} swapped", host(one, at.node),
                                one.fabric.hca_name(at.hca), one.fabric.hca_name(other));
  from_start(one, dice);
}

void foreign_address(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  const auto address = fmt::format("10.{}.{}.{}/24", one.fabric.net + 9, at.hca, at.node + 1);
  one.fabric.changes[{at.node, at.hca}].address = address;
  one.truth.says = {"subnet", "address"};
  one.truth.tells_from_nodes = 3;
  one.truth.words = fmt::format("{} has the foreign address {}", hca_text(one, at), address);
  from_start(one, dice);
}

void foreign_mask(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  const auto address = fmt::format("10.{}.{}.{}/25", one.fabric.net, at.hca, at.node + 129);
  one.fabric.changes[{at.node, at.hca}].address = address;
  one.fabric.routed = false;
  one.truth.says = {"subnet", "address", "mask", "prefix"};
  one.truth.tells_from_nodes = 3;
  one.truth.words = fmt::format("{} has a mask of its own: {}", hca_text(one, at), address);
  from_start(one, dice);
}

void down_at_start(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.changes[{at.node, at.hca}].keys = "state = \"down\"\nphys_state = \"polling\"\n";
  one.fabric.routed = false;
  one.truth.says = {"down", "DOWN", "DEV-DOWN"};
  one.truth.may_be_harmless = true;
  one.truth.words = fmt::format("the port of {} is down from the start", hca_text(one, at));
  from_start(one, dice);
}

void down_later(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.faults += fmt::format("[[fault]]\nkind = \"link-down\"\n{}after_messages = {}\n",
                                   where(one, at), messages(one, dice));
  if (dice.percent(60)) impatient(one);
  one.truth.says = {"down", "ASYNC-PORT"};
  one.truth.words = fmt::format("the port of {} goes down", hca_text(one, at));
  plain(one, dice);
}

void black_hole(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.faults +=
      fmt::format("[[fault]]\nkind = \"lose-peer\"\nhost = \"{}\"\nafter_messages = {}\n",
                  host(one, at.node), messages(one, dice));
  if (dice.percent(60)) impatient(one);
  one.truth.hcas = {};
  one.truth.tells_from_nodes = 3;
  one.truth.says = {"WC-12",   "did not answer", "stuck", "does not move",
                    "carries", "arrive",         "lost",  "answer"};
  one.truth.words =
      fmt::format("nothing reaches {} any more, without an event", host(one, at.node));
  plain(one, dice);
}

void cut(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.faults += fmt::format(
      "[[fault]]\nkind = \"fail-wr\"\n{}nth = {}\ntimes = 0\nstatus = \"RETRY_EXC_ERR\"\n",
      where(one, at), messages(one, dice));
  one.truth.says = {"WC-12", "did not answer", "RETRY_EXC"};
  one.truth.tells_from_nodes = 3;
  one.truth.words = fmt::format("what {} sends is not answered", hca_text(one, at));
  plain(one, dice);
}

void unreachable(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.faults +=
      fmt::format("[[fault]]\nkind = \"refuse-rtr\"\n{}errno = \"ETIMEDOUT\"\n", where(one, at));
  one.truth.says = {"QP-110", "110", "timed out", "resolve"};
  one.truth.tells_from_nodes = 3;
  one.truth.words = fmt::format("{} finds no neighbour (errno 110)", hca_text(one, at));
  from_start(one, dice);
}

void qps(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.node_environment[at.node]["NCCL_IB_QPS_PER_CONNECTION"] = "4";
  one.truth.hcas = {};
  one.truth.network = Network::kEither;
  one.truth.says = {"QPS_PER_CONNECTION", "QPs"};
  one.truth.tells_from_nodes = 3;
  one.truth.may_be_harmless = true;
  one.truth.words = fmt::format("{} alone has NCCL_IB_QPS_PER_CONNECTION=4", host(one, at.node));
  from_start(one, dice);
}

void gid_index(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.node_environment[at.node]["NCCL_IB_GID_INDEX"] = std::to_string(dice.between(7, 12));
  one.truth.hcas = {};
  one.truth.network = Network::kEither;
  one.truth.says = {"GID"};
  one.truth.may_be_harmless = true;
  one.truth.words =
      fmt::format("{} alone has an NCCL_IB_GID_INDEX where there is no GID", host(one, at.node));
  from_start(one, dice);
}

void unopenable(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.changes[{at.node, at.hca}].keys = "open_errno = \"EACCES\"\n";
  one.fabric.routed = false;
  one.truth.says = {"open", "DEV-UNUSABLE"};
  one.truth.may_be_harmless = true;
  one.truth.words = fmt::format("{} can't be opened", hca_text(one, at));
  from_start(one, dice);
}

void no_memory(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  for (const char* verb : {"ibv_reg_mr", "ibv_reg_mr_iova2"})
    one.fabric.faults += fmt::format(
        "[[fault]]\nkind = \"fail-call\"\n{}verb = \"{}\"\nerrno = \"ENOMEM\"\ntimes = 0\n",
        where(one, at), verb);
  one.truth.network = Network::kEither;
  one.truth.hcas = {};
  one.truth.says = {"memory", "MEMLOCK", "ENOMEM", "register"};
  one.truth.words = fmt::format("{} can't register memory (ENOMEM)", hca_text(one, at));
  from_start(one, dice);
}

void no_files(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.faults += fmt::format(
      "[[fault]]\nkind = \"fail-call\"\n{}verb = \"ibv_create_cq\"\nerrno = \"EMFILE\"\ntimes = "
      "0\n",
      where(one, at));
  one.truth.network = Network::kEither;
  one.truth.hcas = {};
  one.truth.says = {"open files", "NOFILE", "EMFILE", "files", "ulimit -n"};
  one.truth.words = fmt::format("{} can't open a file more (EMFILE)", hca_text(one, at));
  from_start(one, dice);
}

void all_down(Case& one, Dice& dice) {
  const int node = dice.below(one.nodes);
  for (int hca = 0; hca < one.fabric.hcas; ++hca)
    one.fabric.changes[{node, hca}].keys = "state = \"down\"\nphys_state = \"polling\"\n";
  one.truth.network = Network::kGuilty;
  one.truth.nodes = {node};
  one.truth.says = {"TCP", "down", "INC-IBTCP", "socket", "Socket"};
  one.truth.words = fmt::format("all ports of {} are down", host(one, node));
  from_start(one, dice);
}

void slow_rail(Case& one, Dice& dice) {
  const Place at = draw_place(one, dice);
  one.fabric.faults += fmt::format("[[fault]]\nkind = \"hold-wr\"\n{}delay_ms = {}\n",
                                   where(one, at), dice.between(40, 120));
  one.truth.says = {"slow"};
  one.truth.tells_from_nodes = one.gpus > 1 ? 2 : 4;
  one.truth.may_be_harmless = true;
  one.truth.words = fmt::format("{} is slow", hca_text(one, at));
  from_start(one, dice);
}

void bond(Case& one, Dice& dice) {
  one.fabric.front += R"([[host.netdev]]
name = "bond0"
kind = "bond"
slaves = ["eno1", "eno2"]
speed_mbps = 200000
address = "10.1.HOST.11/24"
[[host.hca]]
name = "mlx5_bond_0"
netdev = "bond0"
speed_mbps = 200000
pci = "0000:13:01.0"
parent = "0000:10:01.0/0000:11:00.0/0000:12:00.0"
)";
  one.environment["NCCL_IB_HCA"] = "=mlx5_bond_0";
  one.truth.network = Network::kGuilty;
  for (int node = 0; node < one.nodes; ++node) one.truth.nodes.insert(node);
  one.truth.hcas = {"mlx5_bond_0"};
  one.truth.words = "NCCL_IB_HCA names the front end's bonds, which don't reach each other";
  one.truth.tells_from_nodes = 100;
  from_start(one, dice);
}

}  // namespace

std::vector<Fault> network_faults() {
  return {{"rails swapped", 6, swapped},
          {"foreign address", 4, foreign_address},
          {"foreign mask", 3, foreign_mask},
          {"port down at start", 4, down_at_start},
          {"port goes down", 6, down_later},
          {"black hole", 4, black_hole},
          {"no answer", 5, cut},
          {"unreachable", 5, unreachable},
          {"QPs differ", 3, qps},
          {"GID index", 3, gid_index},
          {"HCA can't be opened", 3, unopenable},
          {"ENOMEM", 4, no_memory},
          {"EMFILE", 3, no_files},
          {"all HCAs down", 4, all_down},
          {"slow rail", 3, slow_rail},
          {"bond", 3, bond}};
}

}  // namespace nnd::verdict

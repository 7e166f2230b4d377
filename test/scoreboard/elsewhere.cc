#include "scoreboard/elsewhere.h"

#include <algorithm>
#include <regex>
#include <vector>

namespace nnd::scoreboard {

namespace {

constexpr int kFurther = 4;

// mlx5_0 of each text is mlx5_4, mlx5_10 mlx5_50, mlx5_[01] mlx5_[45]; an unnamed HCA gets a name.
std::string with_other_names(const std::string& text) {
  static const std::regex name(R"(mlx5_(\d|\[\d+\]))"),
      unnamed(R"(\[\[host\.hca\]\]\n(count[^\n]*\n)?(?!count|name))");
  std::string out;
  auto from = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    out.append(from, text.cbegin() + at->position(1));
    for (const char c : at->str(1)) out += c < '0' || c > '9' ? c : static_cast<char>(c + kFurther);
    from = text.cbegin() + at->position() + at->length();
  }
  out.append(from, text.cend());
  return std::regex_replace(out, unnamed, "$&name = \"mlx5_{i+4}\"\n");
}

// Every HCA reaches every other: with more ranks than rails, NCCL connects all of them.
std::string with_one_network(const std::string& scenario) {
  return std::regex_replace(scenario, std::regex(R"(("10\.200\.[^"]*)/24)"), "$1/16");
}

// The chunks of a scenario that begin with [[host]] or [[fault]].
std::vector<std::string> tables_of(const std::string& scenario) {
  std::vector<std::string> out{""};
  for (std::size_t from = 0; from < scenario.size();) {
    const std::size_t end = std::min(scenario.find('\n', from), scenario.size() - 1) + 1;
    const std::string line = scenario.substr(from, end - from);
    if (line == "[[host]]\n" || line == "[[fault]]\n") out.emplace_back();
    out.back() += line;
    from = end;
  }
  return out;
}

// Two hosts that are written out change places; where both are of one table, the faults do.
std::string with_other_node(const std::string& scenario) {
  std::vector<std::string> tables = tables_of(scenario);
  std::vector<std::string*> hosts;
  for (std::string& table : tables)
    if (table.starts_with("[[host]]")) hosts.push_back(&table);
  if (hosts.size() == 2)
    std::swap(*hosts[0], *hosts[1]);
  else
    for (std::string& table : tables)
      if (table.starts_with("[[fault]]"))
        table = std::regex_replace(table, std::regex("\"node1\""), "\"node0\"");
  std::string out;
  for (const std::string& table : tables) out += table;
  return out;
}

void rename(World& world) {
  world.scenario = with_other_names(with_other_node(world.scenario));
  for (auto& [name, value] : world.environment) value = with_other_names(value);
}

}  // namespace

Entry put_elsewhere(Entry entry, const Elsewhere& where) {
  const std::string& world = entry.healthy.scenario;
  // A job that names a rank is one of two ranks.
  const bool only_adds = entry.faulty.scenario.starts_with(world) && entry.healthy.nodes == 2 &&
                         (entry.faulty.job == "collectives" || entry.faulty.job == "many");
  for (World* one : {&entry.healthy, &entry.faulty}) {
    if (one->nccl.empty()) one->nccl = where.nccl;
    if (only_adds) one->gpus = where.gpus;
  }
  if (only_adds && where.gpus > 1) {
    entry.healthy.scenario = with_one_network(entry.healthy.scenario);
    entry.faulty.scenario = with_one_network(entry.faulty.scenario);
    // What befell all HCAs of a node is said of the node.
    if (!entry.headline.device.empty()) entry.headline.device += "|node[01]";
  }
  rename(entry.healthy);
  rename(entry.faulty);
  for (std::string* text : {&entry.expected.device, &entry.headline.device, &entry.headline.says,
                            &entry.expected.remedy})
    *text = with_other_names(*text);
  // Of the other node, and with more ranks of whichever rail.
  entry.expected.peer = entry.expected.says = "";
  return entry;
}

}  // namespace nnd::scoreboard

#include "softverbs/scenario_parse.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "config/text_file.h"
#include "config/toml_text.h"
#include "softverbs/file_tree.h"
#include "softverbs/pci.h"
#include "softverbs/words.h"

namespace softverbs {

namespace {

const Words kCpus = {{"intel-skylake", static_cast<int>(Cpu::kIntelSkylake)},
                     {"intel-sapphire-rapids", static_cast<int>(Cpu::kIntelSapphireRapids)},
                     {"amd-rome", static_cast<int>(Cpu::kAmdRome)},
                     {"amd-genoa", static_cast<int>(Cpu::kAmdGenoa)}};

Prefix network(TomlReader& reader, const char* key) {
  const std::string text = reader.text(key, "");
  const auto prefix = parse_prefix(text);
  if (!prefix) reader.fail(key, "\"" + text + "\" is no network such as 10.0.0.0/16");
  return *prefix;
}

void parse_sysfs(const toml::table& table, Host& host, const ParseState& state) {
  TomlReader reader(table, "[host.sysfs]", state.file);
  for (const auto& [key, node] : table) {
    const std::string path(key.str());
    if (!stays_below(path)) reader.fail(path.c_str(), "it leads out of the host's files");
    if (reader.has(path.c_str()) && node.is_boolean()) {
      if (reader.flag(path.c_str(), true)) reader.fail(path.c_str(), "only false takes it away");
      host.sysfs[path] = std::nullopt;
    } else {
      host.sysfs[path] = reader.text(path.c_str(), "");
    }
  }
}

Netdev loopback() {
  Netdev netdev;
  netdev.name = "lo";
  netdev.ifindex = 1;
  netdev.mac = "00:00:00:00:00:00";
  netdev.mtu = 65536;
  netdev.addresses = {*parse_prefix("127.0.0.1/8"), *parse_prefix("::1/128")};
  return netdev;
}

void parse_hosts(const toml::table& table, Scenario& scenario, ParseState& state) {
  TomlReader outer(table, "[[host]]", state.file);
  const auto count = outer.number("count", 1, 1, 256);
  for (int n = 0; n < count; ++n) {
    const int number = state.hosts++;
    TomlReader reader(table, "[[host]]", state.file, {{'h', number}});
    reader.number("count", 1, 1, 256);
    Host host;
    host.name = reader.name("name", "node{h}");
    host.cpu = static_cast<Cpu>(reader.word("cpu", static_cast<int>(host.cpu), kCpus));
    host.nvswitch = reader.flag("nvswitch", false);
    host.netdevs.push_back(loopback());
    reader.tables("netdev", [&](const toml::table& t) { parse_netdevs(t, number, host, state); });
    reader.tables("hca", [&](const toml::table& t) { parse_hcas(t, number, host, state); });
    reader.tables("gpu", [&](const toml::table& t) { parse_gpus(t, host, state); });
    reader.tables("neighbour", [&](const toml::table& t) {
      TomlReader one(t, "[[host.neighbour]]", state.file, {{'h', number}});
      host.neighbours.push_back(
          {one.text("address", ""), one.text("dev", ""), one.text("state", "")});
      one.finish();
    });
    host.arp_ignore = static_cast<int>(reader.number("arp_ignore", -1, 0, 8));
    host.rp_filter = static_cast<int>(reader.number("rp_filter", -1, 0, 2));
    if (const toml::table* files = reader.table("sysfs")) parse_sysfs(*files, host, state);
    reader.finish();
    scenario.hosts.push_back(std::move(host));
  }
}

// What a host's own routing table says of a route between networks: it leaves by the interface that
// is in one of the two.
void add_host_routes(Scenario& scenario) {
  for (Host& host : scenario.hosts)
    for (const Netdev& netdev : host.netdevs)
      for (const Route& route : scenario.routes)
        for (const auto& [here, there] :
             {std::pair{&route.from, &route.to}, std::pair{&route.to, &route.from}})
          if (std::any_of(netdev.addresses.begin(), netdev.addresses.end(),
                          [network = here](const Prefix& prefix) {
                            return network->contains(prefix.address);
                          }))
            host.routes.push_back({there->text(), "", netdev.name});
}

Scenario build(const toml::table& root, const std::string& file) {
  Scenario scenario;
  scenario.file = file;
  ParseState state{file};
  TomlReader reader(root, "the scenario", file);
  scenario.name = reader.text("name", std::filesystem::path(file).stem().string());
  scenario.description = reader.text("description", "");
  scenario.resolve_timeout_ms =
      static_cast<int>(reader.number("resolve_timeout_ms", 1000, 0, 60000));
  if (!reader.has("host")) reader.fail("host", "a scenario needs at least one [[host]]");
  reader.tables("host", [&](const toml::table& t) { parse_hosts(t, scenario, state); });
  reader.tables("route", [&](const toml::table& t) {
    TomlReader route(t, "[[route]]", file);
    scenario.routes.push_back(
        {network(route, "from"), network(route, "to"), route.flag("lossy", false)});
    route.finish();
  });
  reader.tables("fault", [&](const toml::table& t) {
    scenario.faults.push_back(parse_fault(t, scenario, file));
  });
  reader.finish();
  add_host_routes(scenario);
  check_scenario(scenario);
  return scenario;
}

[[noreturn]] void fail_in_line(const std::string& file, unsigned line, std::string_view what) {
  std::ostringstream out;
  out << file << ":" << line << ": " << what;
  throw ScenarioError(out.str());
}

}  // namespace

Scenario load_scenario(const std::filesystem::path& file) {
  constexpr std::size_t kLargest = std::size_t{4} << 20;
  using nnd::config::AllowedFileType;
  const auto read =
      nnd::config::read_text_file(file, "scenario", kLargest, AllowedFileType::kRegular);
  if (!read.problem.empty()) throw ScenarioError(file.string() + ": " + read.problem);
  return parse_scenario(read.text, file.string());
}

Scenario parse_scenario(const std::string& text, const std::string& file_name) {
  if (const unsigned line = nnd::config::line_of_foreign_character(text); line != 0)
    fail_in_line(file_name, line, "a character that is not ASCII, outside of a comment");
  if (const unsigned line = nnd::config::line_of_deep_key(text); line != 0)
    fail_in_line(file_name, line, "a key of more than 32 parts");
  const toml::parse_result parsed = toml::parse(text, file_name);
  if (parsed) return build(parsed.table(), file_name);
  const toml::parse_error& wrong = parsed.error();
  fail_in_line(file_name, wrong.source().begin.line, wrong.description());
}

void check_scenario(const Scenario& scenario) {
  const auto fail = [&](const std::string& what) {
    throw ScenarioError(scenario.file.string() + ": " + what);
  };
  std::set<std::string> host_names;
  std::map<Gid, std::string> owners;
  std::set<std::pair<std::string, int>> lids;
  for (const Host& host : scenario.hosts) {
    if (!host_names.insert(host.name).second) fail("host \"" + host.name + "\" is there twice");
    std::set<std::string> names;
    for (const Hca& hca : host.hcas) {
      const std::string where = host.name + "'s " + hca.name;
      if (!names.insert(hca.name).second) fail(where + " is there twice");
      for (const Port& port : hca.ports) {
        if (port.lid && !lids.insert({port.network, port.lid}).second)
          fail(where + ": LID " + std::to_string(port.lid) + " is there twice in " + port.network);
        for (const GidEntry& entry : port.gids) {
          if (entry.index >= port.gid_table)
            fail(where + ": GID index " + std::to_string(entry.index) +
                 " is outside its table of " + std::to_string(port.gid_table));
          const std::string place = where + " port " + std::to_string(port.number);
          const auto [it, fresh] = owners.emplace(entry.gid, place);
          if (!fresh && it->second != place)
            fail("GID " + address_text(entry.gid) + " is on " + it->second + " and on " + place);
        }
      }
    }
    if (const std::string problem = twice_on_pci(host); !problem.empty())
      fail("host \"" + host.name + "\": " + problem);
    for (const Netdev& netdev : host.netdevs)
      for (const std::string& other : {netdev.master, netdev.parent})
        if (!other.empty() && !host.find_netdev(other))
          fail(host.name + "'s " + netdev.name + " names the netdev " + other +
               ", which is not there");
  }
}

const Hca* Host::find_hca(const std::string& hca) const {
  const auto it =
      std::find_if(hcas.begin(), hcas.end(), [&](const Hca& h) { return h.name == hca; });
  return it == hcas.end() ? nullptr : &*it;
}

const Netdev* Host::find_netdev(const std::string& netdev) const {
  const auto it = std::find_if(netdevs.begin(), netdevs.end(),
                               [&](const Netdev& n) { return n.name == netdev; });
  return it == netdevs.end() ? nullptr : &*it;
}

const Host* Scenario::find_host(const std::string& host) const {
  const auto it =
      std::find_if(hosts.begin(), hosts.end(), [&](const Host& h) { return h.name == host; });
  return it == hosts.end() ? nullptr : &*it;
}

}  // namespace softverbs

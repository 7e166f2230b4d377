// The pieces that load_scenario is made of.
#pragma once

#include <string>

#include "softverbs/scenario.h"
#include "softverbs/toml_reader.h"

namespace softverbs {

// What runs through all hosts: numbers that must be unique.
struct ParseState {
  const std::string& file;
  int hosts = 0;
  int lids = 1;  // 1 is the subnet manager's
};

// One [[host.hca]] table: appends its HCAs, with the netdevs they need, to the host.
void parse_hcas(const toml::table& table, int host_number, Host& host, ParseState& state);
// One [[host.gpu]] table, after the HCAs.
void parse_gpus(const toml::table& table, Host& host, const ParseState& state);
// One [[host.netdev]] table.
void parse_netdevs(const toml::table& table, int host_number, Host& host, ParseState& state);
// The keys pci and parent of an HCA or a GPU; what is there already is the default.
void read_place(TomlReader& reader, std::string& pci, std::string& parent);
Fault parse_fault(const toml::table& table, const Scenario& scenario, const std::string& file);

// The GID table that the look's driver would make of the port's netdev.
void fill_gids(const Hca& hca, const Host& host, const Gid& subnet_prefix, bool fill_all,
               Port& port);
std::string mac_address(int host_number, int device_number, int port);

// Things that only the whole can tell: names and addresses given twice, netdevs that are not there.
void check_scenario(const Scenario& scenario);

}  // namespace softverbs

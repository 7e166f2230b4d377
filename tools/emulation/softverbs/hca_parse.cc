#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "softverbs/pci.h"
#include "softverbs/scenario_parse.h"
#include "softverbs/words.h"

namespace softverbs {

namespace {

constexpr int kMaxPorts = 8;

const Words kStates = {{"down", 1}, {"init", 2}, {"armed", 3}, {"active", 4}};
const Words kPhysStates = {
    {"sleep", 1}, {"polling", 2}, {"disabled", 3}, {"training", 4}, {"up", 5}};
const Words kLinkLayers = {{"unspecified", 0}, {"infiniband", 1}, {"ethernet", 2}};
const Words kLooks = {{"mlx5", static_cast<int>(Look::kMlx5)},
                      {"bnxt", static_cast<int>(Look::kBnxt)},
                      {"irdma", static_cast<int>(Look::kIrdma)},
                      {"rxe", static_cast<int>(Look::kRxe)},
                      {"efa", static_cast<int>(Look::kEfa)}};
const Words kMtus = {{"256", 1}, {"512", 2}, {"1024", 3}, {"2048", 4}, {"4096", 5}};
const Words kGidTypes = {{"IB", static_cast<int>(GidType::kIb)},
                         {"v1", static_cast<int>(GidType::kRoceV1)},
                         {"v2", static_cast<int>(GidType::kRoceV2)}};

int mtu_number(TomlReader& reader, int fallback) {
  const auto bytes = reader.number("mtu", 0, 0, 4096);
  if (bytes == 0) return fallback;
  for (const auto& [name, number] : kMtus)
    if (name == std::to_string(bytes)) return number;
  reader.fail("mtu", "an RDMA MTU is 256, 512, 1024, 2048 or 4096");
}

// The keys of a port: the HCA's table gives them for all its ports, [[host.hca.port]] for one.
void read_port(TomlReader& reader, Port& port) {
  port.link_layer = static_cast<LinkLayer>(
      reader.word("link_layer", static_cast<int>(port.link_layer), kLinkLayers));
  port.state = reader.word("state", port.state, kStates);
  const bool link_up = port.state != 1;
  port.phys_state = reader.word("phys_state", link_up ? 5 : 3, kPhysStates);
  port.speed_mbps = static_cast<std::uint64_t>(
      reader.number("speed_mbps", static_cast<std::int64_t>(port.speed_mbps), 1000, 1600000));
  port.width = static_cast<int>(reader.number("width", port.speed_mbps <= 50000 ? 1 : 4, 1, 12));
  port.active_mtu = mtu_number(reader, port.active_mtu);
  port.gid_table = static_cast<int>(reader.number("gid_table", port.gid_table, 1, 4096));
  if (reader.has("pkeys")) {
    port.pkeys.clear();
    for (const std::string& pkey : reader.texts("pkeys")) {
      char* end = nullptr;
      const unsigned long number = std::strtoul(pkey.c_str(), &end, 0);
      if (pkey.empty() || *end != '\0' || number > 0xffff)
        reader.fail("pkeys", "\"" + pkey + "\" is no partition key such as 0xffff");
      port.pkeys.push_back(static_cast<std::uint16_t>(number));
    }
  }
}

std::vector<Prefix> addresses(TomlReader& reader) {
  std::vector<Prefix> out;
  for (const std::string& text : reader.texts("address")) {
    const auto prefix = parse_prefix(text);
    if (!prefix || text.find('/') == std::string::npos)
      reader.fail("address", "\"" + text + "\" is no address with a length, such as 10.0.0.1/24");
    out.push_back(*prefix);
  }
  return out;
}

void explicit_gids(TomlReader& reader, const std::string& file, Port& port) {
  if (!reader.has("gids")) return;
  port.gids.clear();
  reader.tables("gids", [&](const toml::table& table) {
    TomlReader entry(table, "gids", file, reader.counters());
    GidEntry gid;
    gid.index = static_cast<int>(entry.number("index", 0, 0, 4095));
    const std::string text = entry.text("gid", "");
    const auto address = parse_address(text);
    if (!address) entry.fail("gid", "\"" + text + "\" is no GID");
    gid.gid = *address;
    gid.type =
        static_cast<GidType>(entry.word("type", static_cast<int>(GidType::kRoceV2), kGidTypes));
    gid.netdev = entry.text("netdev", port.netdev);
    entry.finish();
    port.gids.push_back(gid);
  });
}

std::string masked_network(const Prefix& prefix) {
  Prefix network = prefix;
  for (int bit = prefix.bits; bit < 128; ++bit)
    network.address[static_cast<std::size_t>(bit / 8)] &=
        static_cast<std::uint8_t>(~(0x80 >> (bit % 8)));
  return network.text();
}

// The netdev under an Ethernet port: one that [[host.netdev]] describes, or a new one.
void attach_netdev(TomlReader& reader, const Hca& hca, int host_number, int device_number,
                   Host& host, Port& port) {
  port.netdev = reader.name("netdev", "ens" + std::to_string(device_number) + "np{p}");
  const auto given = addresses(reader);
  if (!host.find_netdev(port.netdev)) {
    Netdev netdev;
    netdev.name = port.netdev;
    netdev.ifindex = static_cast<int>(host.netdevs.size()) + 1;
    netdev.mac = mac_address(host_number, device_number, port.number);
    netdev.up = port.state == 4;
    netdev.speed_mbps = port.speed_mbps;
    netdev.pci = hca.pci;
    host.netdevs.push_back(netdev);
  }
  auto& netdev = *std::find_if(host.netdevs.begin(), host.netdevs.end(),
                               [&](const Netdev& n) { return n.name == port.netdev; });
  netdev.addresses.insert(netdev.addresses.end(), given.begin(), given.end());
  if (netdev.speed_mbps == 0) netdev.speed_mbps = port.speed_mbps;
  if (netdev.pci.empty()) netdev.pci = hca.pci;
  for (Netdev& slave : host.netdevs)
    if (slave.master == netdev.name && slave.pci.empty()) slave.pci = hca.pci;
  const bool addressed = !netdev.addresses.empty();
  port.network =
      reader.text("network", addressed ? masked_network(netdev.addresses.front()) : "ethernet");
}

void make_ports(const toml::table& table, const Counters& counters, int host_number,
                int device_number, Host& host, ParseState& state, Hca& hca) {
  TomlReader reader(table, "[[host.hca]]", state.file, counters);
  const auto count = reader.number("ports", 1, 1, kMaxPorts);
  for (int n = 1; n <= count; ++n) {
    Counters inner = counters;
    inner['p'] = n;
    Port port;
    port.number = n;
    const std::string where = "[[host.hca]]";
    const toml::table* own = &table;
    TomlReader general(table, where, state.file, inner);
    read_port(general, port);
    general.tables("port", [&](const toml::table& t) {
      TomlReader special(t, "[[host.hca.port]]", state.file, inner);
      if (special.number("number", 1, 1, kMaxPorts) != n) return;
      read_port(special, port);
      own = &t;
    });
    TomlReader naming(*own, own == &table ? where : "[[host.hca.port]]", state.file, inner);
    const auto given = parse_address(general.text("subnet_prefix", "fe80::"));
    if (!given) general.fail("subnet_prefix", "it is no address such as fe80::");
    const Gid prefix = *given;
    const bool fill = general.flag("gid_fill", false);
    if (port.link_layer == LinkLayer::kEthernet) {
      attach_netdev(naming, hca, host_number, device_number, host, port);
    } else {
      port.network = naming.text("network", "ib0");
      port.lid = static_cast<std::uint16_t>(naming.number("lid", ++state.lids, 0, 0xbfff));
      port.sm_lid = port.state >= 3 ? 1 : 0;
    }
    fill_gids(hca, host, prefix, fill, port);
    explicit_gids(naming, state.file, port);
    if (own != &table) {
      read_port(naming, port);
      naming.number("number", 1, 1, kMaxPorts);
      naming.finish();
    }
    hca.ports.push_back(std::move(port));
  }
}

}  // namespace

void read_place(TomlReader& reader, std::string& pci, std::string& parent) {
  pci = reader.text("pci", pci);
  if (!pci.empty() && !is_pci_address(pci))
    reader.fail("pci", "\"" + pci + "\" is no PCI address such as 0000:17:00.0");
  parent = reader.text("parent", parent);
  if (bridges(parent).empty())
    reader.fail("parent", "\"" + parent +
                              "\" is no PCI address such as 0000:0f:01.0, nor several, "
                              "from the root port down, with / between them");
}

std::string mac_address(int host_number, int device_number, int port) {
  char text[18];
  std::snprintf(text, sizeof text, "02:5e:%02x:%02x:%02x:%02x", (host_number >> 8) & 0xff,
                host_number & 0xff, device_number & 0xff, port & 0xff);
  return text;
}

void parse_hcas(const toml::table& table, int host_number, Host& host, ParseState& state) {
  TomlReader outer(table, "[[host.hca]]", state.file);
  const auto count = outer.number("count", 1, 1, 64);
  for (int i = 0; i < count; ++i) {
    const int device = static_cast<int>(host.hcas.size());
    const Counters counters = {{'h', host_number}, {'i', i}};
    TomlReader reader(table, "[[host.hca]]", state.file, counters);
    Hca hca;
    hca.name = reader.name("name", "mlx5_{i}");
    hca.uverbs = "uverbs" + std::to_string(device);
    hca.look = static_cast<Look>(reader.word("look", static_cast<int>(Look::kMlx5), kLooks));
    hca.firmware = reader.text("firmware", hca.look == Look::kMlx5 ? "28.39.1002" : "1.0");
    hca.node_guid = 0x025e000000000000ULL | static_cast<std::uint64_t>(host_number) << 16 |
                    static_cast<std::uint64_t>(device) << 8;
    const std::string card = reader.text("sys_image_guid", "");
    hca.sys_image_guid = card.empty() ? hca.node_guid : std::stoull(card, nullptr, 16);
    char place[16];
    std::snprintf(place, sizeof place, "0000:%02x:00.0", 0x10 + device * 3);
    if (hca.look != Look::kRxe) hca.pci = place;
    std::snprintf(place, sizeof place, "0000:%02x:01.0", 0x0f + device * 3);
    hca.parent = place;
    read_place(reader, hca.pci, hca.parent);
    hca.physfn = reader.text("physfn", "");
    hca.numa = static_cast<int>(reader.number("numa", count > 1 && i >= count / 2 ? 1 : 0, -1, 64));
    hca.pcie_max_width = static_cast<int>(reader.number("pcie_max_width", 16, 1, 16));
    hca.pcie_width = static_cast<int>(reader.number("pcie_width", hca.pcie_max_width, 1, 16));
    hca.pcie_max_speed = reader.text("pcie_max_speed", "32.0 GT/s PCIe");
    hca.pcie_speed = reader.text("pcie_speed", hca.pcie_max_speed);
    hca.data_direct = reader.text("data_direct", "");
    hca.dmabuf_errno = reader.word("dmabuf_errno", hca.dmabuf_errno, errno_words());
    hca.open_errno = reader.word("open_errno", 0, errno_words());
    hca.ece = reader.flag("ece", hca.look == Look::kMlx5);
    hca.max_qp = static_cast<int>(reader.number("max_qp", hca.max_qp, 1, 1 << 24));
    // Named here so that finish() knows them; make_ports reads them once per port.
    for (const char* key : {"count", "ports", "port", "link_layer", "state", "phys_state",
                            "speed_mbps", "width", "mtu", "gid_table", "gid_fill", "pkeys", "gids",
                            "netdev", "address", "network", "lid", "subnet_prefix"})
      reader.has(key);
    reader.finish();
    make_ports(table, counters, host_number, device, host, state, hca);
    host.hcas.push_back(std::move(hca));
  }
}

void parse_netdevs(const toml::table& table, int host_number, Host& host, ParseState& state) {
  TomlReader outer(table, "[[host.netdev]]", state.file);
  const auto count = outer.number("count", 1, 1, 64);
  for (int i = 0; i < count; ++i) {
    TomlReader reader(table, "[[host.netdev]]", state.file, {{'h', host_number}, {'i', i}});
    reader.number("count", 1, 1, 64);
    Netdev netdev;
    netdev.name = reader.name("name", "eth{i}");
    netdev.ifindex = static_cast<int>(
        reader.number("ifindex", static_cast<int>(host.netdevs.size()) + 1, 1, 1 << 20));
    netdev.kind = reader.text("kind", "");
    netdev.mac = mac_address(host_number, 0x80 + netdev.ifindex, 0);
    netdev.mtu = static_cast<int>(reader.number("mtu", 1500, 68, 65536));
    netdev.up = reader.flag("up", true);
    netdev.elsewhere = reader.flag("elsewhere", false);
    netdev.speed_mbps = static_cast<std::uint64_t>(reader.number("speed_mbps", 25000, 0, 1600000));
    netdev.master = reader.text("master", "");
    netdev.parent = reader.text("parent", "");
    netdev.vlan = static_cast<int>(reader.number("vlan", 0, 0, 4094));
    netdev.mode = reader.text("mode", netdev.kind == "bond" ? "802.3ad 4" : "");
    netdev.pci = reader.text("pci", "");
    netdev.addresses = addresses(reader);
    const std::string gateway = reader.text("gateway", "");
    if (!gateway.empty()) host.routes.push_back({"default", gateway, netdev.name});
    const auto slaves = reader.texts("slaves");
    for (const std::string& name : slaves) reader.check_name("slaves", name);
    reader.finish();
    host.netdevs.push_back(netdev);
    for (const std::string& name : slaves) {
      Netdev slave;
      slave.name = name;
      slave.ifindex = static_cast<int>(host.netdevs.size()) + 1;
      slave.mac = netdev.mac;
      slave.mtu = netdev.mtu;
      slave.up = netdev.up;
      slave.speed_mbps = netdev.speed_mbps / slaves.size();
      slave.master = netdev.name;
      slave.pci = netdev.pci;
      host.netdevs.push_back(slave);
    }
  }
}

}  // namespace softverbs

#include "policy/lint.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "config/nccl_variables.h"
#include "config/redact.h"
#include "diagnosis/environment.h"
#include "facts/nccl_devices.h"
#include "nccl_abi/releases.h"
#include "policy/hca_list.h"
#include "policy/lint_values.h"

namespace nnd::policy {

namespace {

using facts::Hca;
using facts::HcaEntry;
using facts::Port;
using facts::PortChoice;

class Linter {
 public:
  Linter(const facts::Node& node, const facts::Environment& environment)
      : node_(node), environment_(environment) {}

  std::vector<Lint> lint() {
    lint_names();
    lint_hca_list();
    lint_gid_index();
    lint_retries();
    lint_qp_retries();
    lint_socket_interfaces();
    lint_picked_interface();
    lint_leftovers();
    lint_transport();
    for (Lint& one : lint_values(node_, environment_)) out_.push_back(std::move(one));
    lint_fusion();
    lint_first_process();
    lint_conf_files();
    std::stable_sort(out_.begin(), out_.end(),
                     [](const Lint& a, const Lint& b) { return a.variable < b.variable; });
    return std::move(out_);
  }

 private:
  void add(const char* variable, diagnosis::Diagnosis diagnosis) {
    const std::string* value = environment_.get(variable);
    out_.push_back({variable, value ? *value : "", std::move(diagnosis)});
  }

  void lint_hca_list() {
    const facts::HcaFilter& filter = node_.filter;
    if (!filter.given || node_.hcas.empty()) return;
    using Kind = diagnosis::HcaEntryFault::Kind;
    for (const HcaEntry& entry : filter.entries) {
      // NCCL reads '^' and '=' once, at the start of the whole list, '^' first.
      if (entry.name.starts_with('^') || entry.name.starts_with('='))
        add_entry(Kind::kSigns, entry.name);
      else if (entry.name.find(' ') != std::string::npos)
        add_entry(Kind::kSpace, entry.name);
      else
        lint_entry(entry, filter);
    }
  }

  void add_entry(diagnosis::HcaEntryFault::Kind kind, const std::string& entry,
                 std::vector<std::string> more = {}) {
    diagnosis::HcaEntryFault fault{kind, entry, std::move(more), meant_hca_lists(node_)};
    for (const Hca& hca : node_.hcas) fault.here.push_back(hca.name);
    add("NCCL_IB_HCA", diagnose(fault));
  }

  void lint_entry(const HcaEntry& entry, const facts::HcaFilter& filter) {
    std::vector<std::string> more, ports;
    bool same = false;
    bool any = false;
    for (const Hca& hca : node_.hcas) {
      const bool named = hca.name == entry.name;
      const bool matches = filter.exact ? named : hca.name.starts_with(entry.name);
      const bool port = entry.port < 0 ||
                        std::any_of(hca.ports.begin(), hca.ports.end(),
                                    [&entry](const Port& of) { return of.number == entry.port; });
      if (named && !port)
        for (const Port& of : hca.ports) ports.push_back(fmt::format("{}:{}", hca.name, of.number));
      if (!matches || !port) continue;
      any = true;
      if (named)
        same = true;
      else
        more.push_back(hca.name);
    }
    using Kind = diagnosis::HcaEntryFault::Kind;
    // A list of what to leave out may serve several kinds of nodes.
    if (!any && !filter.exclude && !ports.empty())
      add_entry(Kind::kNoSuchPort, fmt::format("{}:{}", entry.name, entry.port), std::move(ports));
    else if (!any && !filter.exclude)
      add_entry(Kind::kMatchesNothing, entry.name);
    else if (same && !more.empty())
      add_entry(Kind::kMatchesMore, entry.name, std::move(more));
  }

  void lint_names() {
    for (const auto& [name, value] : environment_.values())
      if (const auto meant = config::meant_variable(name); !meant.empty())
        add(name.c_str(), diagnose(diagnosis::MisspeltVariable{name, std::string(meant)}));
  }

  void lint_gid_index() {
    if (environment_.number("NCCL_IB_GID_INDEX", -1) < 0) return;
    std::string empty;
    std::string unfit;
    for (const Hca& hca : node_.hcas)
      for (const Port& port : hca.ports) {
        if (port.choice != PortChoice::kTaken || !port.ethernet()) continue;
        const std::string name = fmt::format("{}:{}", hca.name, port.number);
        if (!port.picked())
          empty += (empty.empty() ? "" : ", ") + name;
        else if (!routable(*port.picked()) && has_routable(port))
          unfit += (unfit.empty() ? "" : ", ") + name;
      }
    if (!empty.empty()) add("NCCL_IB_GID_INDEX", diagnose(diagnosis::BadGidIndex{empty}));
    if (!unfit.empty()) add("NCCL_IB_GID_INDEX", diagnose(diagnosis::BadGidIndex{unfit, true}));
  }

  static bool routable(const facts::Gid& gid) {
    return gid.type == facts::GidType::kRoceV2 && !facts::gid_address(gid.raw).link_local();
  }
  static bool has_routable(const Port& port) {
    return std::any_of(port.gids.begin(), port.gids.end(), routable);
  }

  void lint_retries() {
    const long retries = environment_.number("NCCL_IB_RETRY_CNT", 7);
    const long timeout = environment_.number("NCCL_IB_TIMEOUT", 20);
    using Fault = diagnosis::RetransmitFault;
    if (retries > 7 || retries < 0)
      add("NCCL_IB_RETRY_CNT", diagnose(Fault{Fault::Kind::kRetryField, retries}));
    if (timeout == 0)
      add("NCCL_IB_TIMEOUT", diagnose(Fault{Fault::Kind::kForEver}));
    else if (timeout > 31 || timeout < 0)
      add("NCCL_IB_TIMEOUT", diagnose(Fault{Fault::Kind::kTimeoutField, timeout}));
    else if (retries >= 0 && retries <= 7)
      lint_budget(timeout, retries);
  }

  // NCCL 2.24 and newer (src/misc/ibvwrap.cc) repeat a QP's failed move n times, and sleep 1, 2,
  // ... n times the given while in between.
  void lint_qp_retries() {
    const double count = static_cast<double>(environment_.number("NCCL_IB_MQP_RETRY_CNT", 34));
    const double sleep =
        static_cast<double>(environment_.number("NCCL_IB_MQP_RETRY_SLEEP_MSEC", 100));
    const double seconds = count > 0 && sleep > 0 ? sleep * count * (count + 1) / 2000 : 0;
    if (environment_.number("NCCL_IB_MQP_RETRY_ALL", 0) != 0)
      add("NCCL_IB_MQP_RETRY_ALL", diagnose(diagnosis::LongQpRetries{true, seconds}));
    if (seconds > 120)
      add(environment_.get("NCCL_IB_MQP_RETRY_CNT") ? "NCCL_IB_MQP_RETRY_CNT"
                                                    : "NCCL_IB_MQP_RETRY_SLEEP_MSEC",
          diagnose(diagnosis::LongQpRetries{false, seconds}));
  }

  void lint_budget(long timeout, long retries) {
    const double seconds = 4.096e-6 * std::pow(2.0, static_cast<double>(timeout)) *
                           static_cast<double>(std::max(retries, 1L));
    if (seconds >= 8) return;
    const char* variable =
        environment_.get("NCCL_IB_TIMEOUT") ? "NCCL_IB_TIMEOUT" : "NCCL_IB_RETRY_CNT";
    using Fault = diagnosis::RetransmitFault;
    add(variable, diagnose(Fault{Fault::Kind::kShort, 0, seconds}));
  }

  void lint_socket_interfaces() {
    const std::string* value = environment_.get("NCCL_SOCKET_IFNAME");
    if (!value || !node_.network.known) return;
    const facts::HcaFilter list = facts::HcaFilter::parse(value, node_.nccl_version);
    if (list.exclude) return;
    bool any = false;
    for (const HcaEntry& entry : list.entries) {
      any = any || entry.name == "lo";  // everywhere, listed or not
      for (const facts::NetDev& dev : node_.network.devs)
        if (list.exact ? dev.name == entry.name : dev.name.starts_with(entry.name)) {
          any = true;
          lint_interface(dev);
        }
    }
    // A list may name the interfaces of several kinds of nodes: one that is here is enough.
    if (!any && !list.entries.empty())
      add("NCCL_SOCKET_IFNAME",
          diagnose(diagnosis::SocketInterface{diagnosis::SocketInterface::Kind::kNoneHere}));
  }

  void lint_picked_interface() {
    if (environment_.get("NCCL_SOCKET_IFNAME") || !for_containers(node_.oob.netdev)) return;
    using Seen = diagnosis::SocketInterface;
    add("NCCL_SOCKET_IFNAME",
        diagnose(Seen{Seen::Kind::kPickedForContainers, node_.oob.netdev, node_.oob.address}));
  }

  static bool for_containers(std::string_view netdev) {
    static constexpr std::array<std::string_view, 13> kWrong = {
        "docker", "virbr", "veth", "br-", "cni",       "flannel", "cali",
        "tun",    "tap",   "wg",   "ppp", "tailscale", "ip6tnl"};
    return std::any_of(kWrong.begin(), kWrong.end(),
                       [netdev](std::string_view prefix) { return netdev.starts_with(prefix); });
  }

  void lint_interface(const facts::NetDev& dev) {
    using Seen = diagnosis::SocketInterface;
    if (for_containers(dev.name))
      add("NCCL_SOCKET_IFNAME", diagnose(Seen{Seen::Kind::kForContainers, dev.name}));
  }

  void lint_leftovers() {
    // With NCCL_IB_DISABLE nobody asks verbs; sysfs knows.
    const std::size_t hcas = std::max(node_.hcas.size(), node_.sysfs_hcas.size());
    if (environment_.number("NCCL_IB_DISABLE", 0) != 0 && hcas != 0)
      add("NCCL_IB_DISABLE", diagnose(diagnosis::RdmaTurnedOff{hcas}));
    const std::string* net = environment_.get("NCCL_NET");
    if (net && hcas != 0 && strcasecmp(net->c_str(), "Socket") == 0)
      add("NCCL_NET", diagnose(diagnosis::RdmaTurnedOff{hcas}));
    lint_gdr_leftovers();
    if (nccl_abi::kForgetsPlugin.has(node_.nccl_version) &&
        environment_.number("NCCL_NET_PLUGIN_REF_COUNT", 0) < 1)
      add("NCCL_NET_PLUGIN_REF_COUNT", diagnose(diagnosis::NoRefCount{}));
  }

  void lint_transport() {
    if (!facts::expects_rdma(node_)) return;  // EFA is for another plugin
    using Other = diagnosis::OtherTransport;
    const std::size_t hcas = std::max(node_.hcas.size(), node_.sysfs_hcas.size());
    const std::string* net = environment_.get("NCCL_NET");
    if (hcas != 0 && net && !net->empty() && strcasecmp(net->c_str(), "Socket") != 0 &&
        strcasecmp(net->c_str(), "IB") != 0)
      add("NCCL_NET", diagnose(Other{Other::Kind::kNet, *net, hcas}));
    const std::string* plugin = environment_.get("NCCL_NET_PLUGIN");
    if (hcas != 0 && plugin && !plugin->empty() && strcasecmp(plugin->c_str(), "none") != 0 &&
        plugin->find("diag") == plugin->npos)
      add("NCCL_NET_PLUGIN", diagnose(Other{Other::Kind::kPlugin, *plugin, hcas}));
  }

  // Both were set to get round a fault once, and cost most of the bandwidth.
  void lint_gdr_leftovers() {
    const bool possible = std::any_of(node_.hcas.begin(), node_.hcas.end(), [](const Hca& hca) {
      return hca.gdr.way == facts::GdrWay::kPeermem || hca.gdr.way == facts::GdrWay::kDmabuf;
    });
    if (possible && environment_.number("NCCL_GDR_FLUSH_DISABLE", 0) != 0)
      add("NCCL_GDR_FLUSH_DISABLE", diagnose(diagnosis::FlushTurnedOff{}));
    const std::string* level = environment_.get("NCCL_NET_GDR_LEVEL");
    if (possible && level && (*level == "LOC" || *level == "0"))
      add("NCCL_NET_GDR_LEVEL", diagnose(diagnosis::GpuDirectTurnedOff{}));
    const bool dmabuf_only = std::any_of(node_.hcas.begin(), node_.hcas.end(), [](const Hca& hca) {
      return hca.gdr.way == facts::GdrWay::kDmabuf && !hca.gdr.peermem;
    });
    if (dmabuf_only && environment_.number("NCCL_DMABUF_ENABLE", 1) == 0)
      add("NCCL_DMABUF_ENABLE", diagnose(diagnosis::GpuDirectTurnedOff{true}));
  }

  void lint_fusion() {
    if (!nccl_abi::kInsistsOnFusion.has(node_.nccl_version) ||
        environment_.number("NCCL_IB_MERGE_NICS", 1) != 0)
      return;
    const std::string* const level = environment_.get("NCCL_NET_MERGE_LEVEL");
    if (level && *level == "LOC") return;
    const auto made = facts::nccl_devices(node_, environment_);
    std::map<std::string_view, const facts::NcclDevice*> of_card;
    for (const facts::NcclDevice& device : made.devices) {
      const auto [at, first] = of_card.emplace(device.pci_path, &device);
      if (first || device.pci_path.empty()) continue;
      add("NCCL_IB_MERGE_NICS",
          diagnose(diagnosis::ForbiddenFusion{name_of(*at->second), name_of(device)}));
      return;
    }
  }
  static std::string name_of(const facts::NcclDevice& device) {
    return fmt::format("{}:{}", device.members.front().hca->name,
                       device.members.front().port->number);
  }

  void lint_first_process() {
    for (const std::string& name : node_.system.missing_from_init)
      add(name.c_str(), diagnose(diagnosis::MissingFromProcess{name}));
  }

  // NCCL puts a file's values into the environment where there is none yet.
  void lint_conf_files() {
    for (const facts::ConfFile& file : node_.system.conf_files)
      for (const auto& [name, value] : file.values) {
        const std::string* used = environment_.get(name);
        if (used && config::shown_value(name, *used) != value)
          add(name.c_str(), diagnose(diagnosis::OverriddenFile{file.path, value}));
      }
  }

  const facts::Node& node_;
  const facts::Environment& environment_;
  std::vector<Lint> out_;
};

}  // namespace

std::vector<Lint> lint_environment(const facts::Node& node, const facts::Environment& environment) {
  return Linter(node, environment).lint();
}

}  // namespace nnd::policy

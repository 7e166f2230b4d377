#include "cli/ping/describe.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "cli/check/examine.h"
#include "cli/check/result.h"
#include "cli/common/environment.h"
#include "driver/error.h"
#include "log/nccl_version.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

// "mlx5_0:1" by NCCL's number. The port that NCCL tells has something added to it where several
// devices seem to share a PCI place (realPort in v2.28.9-1 src/transport/net_ib.cc); but the n-th
// device of a name is the n-th port of that HCA that is taken. Empty: it is none, as where the
// policy has left nothing.
std::vector<std::string> port_names(const json& devices, const json& check) {
  std::map<std::string, std::vector<int>> ports;
  for (const auto& hca : check.value("hcas", json::array()))
    if (hca.at("verdict") == "taken") ports[hca.at("name")].push_back(hca.at("port"));
  std::map<std::string, std::size_t> seen;
  std::vector<std::string> out;
  for (const auto& device : devices) {
    const auto name = device.value("name", "");
    const auto& own = ports[name];
    const auto number = seen[name]++;
    out.push_back(number < own.size() ? fmt::format("{}:{}", name, own[number]) : "");
  }
  return out;
}

json check_of(const std::string& nccl, const std::string& host) {
  CheckInput input;
  input.nccl_version = log::version_code(nccl);
  input.host = host;
  input.inside = true;
  return check_result(examine(input), {});
}

}  // namespace

json describe_ping_host(const RankSetup& setup, const PingTick& tick) {
  json out{{"host", host_name()}, {"devices", json::array()}, {"settings", ping_settings()}};
  try {
    PingRank rank(setup, "describe", tick);
    auto loaded = rank.load();
    const int init = loaded.at("init_rc");
    if (init != 0) {
      const auto words = rank.last_words();
      out["problem"] = fmt::format("the transport's init returned {}{}{}", init,
                                   words.empty() ? "" : ": ", words);
    }
    rank.end();
    for (const char* key : {"nccl", "nccl_path", "net_version", "plugin"})
      out[key] = loaded.at(key);
    out["check"] = check_of(out["nccl"], out["host"]);
    out["devices"] = port_names(loaded.at("devices"), out["check"]);
  } catch (const PingStopped& stopped) {
    out["problem"] = stopped.what();
  } catch (const std::exception& error) {
    out["problem"] = error.what();
  }
  return out;
}

}  // namespace nnd::cli

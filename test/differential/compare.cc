#include <endian.h>
#include <fmt/format.h>

#include "differential/run.h"

namespace nnd::differential {

namespace {

using nlohmann::json;

class Comparison {
 public:
  Comparison(const json& seen, const json& said) : seen_(seen), said_(said["transport"]) {
    hcas_ = said["hcas"];
  }

  std::vector<std::string> run() {
    equal("init", seen_["init"], said_["init"]);
    if (!out_.empty() || seen_["init"] != "works") return std::move(out_);
    devices();
    if (out_.empty() && seen_.contains("device")) connection(seen_["device"]);
    return std::move(out_);
  }

 private:
  void equal(const std::string& what, const json& seen, const json& said) {
    if (seen != said)
      out_.push_back(fmt::format("{}: NCCL {}, check {}", what, seen.dump(), said.dump()));
  }

  static std::vector<std::string> names(const json& devices) {
    std::vector<std::string> out;
    for (const json& device : devices) out.push_back(device.value("name", "?"));
    return out;
  }

  void devices() {
    equal("devices", names(seen_["devices"]), names(said_["devices"]));
    if (!out_.empty()) return;
    for (std::size_t i = 0; i < said_["devices"].size(); ++i)
      device(seen_["devices"][i], said_["devices"][i]);
  }

  void device(const json& seen, const json& said) {
    const std::string name = said["name"];
    for (const char* key : {"speed_mbps", "port", "pci_path", "ptr_support", "max_comms"})
      equal(name + " " + key, seen[key], said[key]);
    // NCCL passes the number on as verbs has it, in network order.
    equal(name + " guid", fmt::format("0x{:016x}", be64toh(seen["guid"].get<std::uint64_t>())),
          said["guid"]);
    if (seen.contains("force_flush"))
      equal(name + " force_flush", seen["force_flush"] != 0, said["force_flush"]);
    for (const auto& [theirs, ours] :
         {std::pair{"rail_id", "rail"}, std::pair{"plane_id", "plane"}})
      if (seen.contains(theirs))
        equal(name + " " + ours, seen[theirs], said[ours].is_null() ? json(-1) : said[ours]);
  }

  const json* port_of(const json& member) const {
    for (const json& hca : hcas_)
      if (hca["name"] == member["hca"] && hca["port"] == member["port"]) return &hca;
    return nullptr;
  }

  // Every member of a merged device must find its GID, and the first QP is the first one's.
  void connection(std::size_t index) {
    const json& device = said_["devices"][index];
    bool all_pick = true;
    for (const json& member : device["members"]) {
      const json* port = port_of(member);
      if (port == nullptr) return out_.push_back("check has no port for " + member.dump());
      all_pick = all_pick && !(*port)["pick"]["index"].is_null();
    }
    for (const char* end : {"send", "recv"})
      moves(end, *port_of(device["members"].front()), all_pick);
  }

  // A port's own settings, as far as NCCL came with them.
  void moves(const std::string& end, const json& port, bool picks) {
    const json moves = seen_["moves"].value(end, json::object());
    const json& qp = said_["qp"];
    const std::string where = port["name"].get<std::string>() + " " + end + " ";
    if (moves.contains("INIT")) {
      equal(where + "pkey_index", moves["INIT"]["qp"]["pkey_index"], qp["pkey_index"]);
      if (moves["INIT"]["errno"] != 0) return;  // the hardware has no such pkey
    }
    const bool went = moves.contains("RTR");
    if (went != picks && (went || turn_came(end)))
      return out_.push_back(fmt::format("{}RTR: NCCL {}, check says GID {}; {}", where,
                                        went ? "came so far" : "did not come so far",
                                        port["pick"].dump(), seen_["connection"].dump()));
    if (!picks || !went) return;
    ready(where, end, moves["RTR"], port);
    if (!moves.contains("RTS")) return;
    equal(where + "timeout", moves["RTS"]["qp"]["timeout"], qp["timeout"]);
    equal(where + "retry_cnt", moves["RTS"]["qp"]["retry_cnt"], qp["retry_count"]);
  }

  // The sender makes its QPs, the receiver then makes and moves its own, and the sender moves when
  // that worked.
  bool turn_came(const std::string& end) const {
    const json other = seen_["moves"].value(end == "send" ? "recv" : "send", json::object());
    return other.contains(end == "send" ? "RTS" : "INIT") && !other.contains("failed");
  }

  void ready(const std::string& where, const std::string& end, const json& move, const json& port) {
    const json& qp = said_["qp"];
    equal(where + "path_mtu", move["qp"]["path_mtu"], port["mtu"]);
    equal(where + "service level", move["qp"]["sl"], qp["service_level"]);
    if (port["link_layer"] == "InfiniBand") return;  // by LID: no GID of its own is named
    if (port["pick"]["certain"] == true)
      equal(where + "GID index", move["dev"].value("gid_index", json()), port["pick"]["index"]);
    equal(where + "traffic class", move["qp"]["traffic_class"],
          qp[end == "recv" ? "receiver_traffic_class" : "traffic_class"]);
  }

  const json& seen_;
  const json& said_;
  json hcas_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> compare(const json& seen, const json& said) {
  return Comparison(seen, said).run();
}

std::vector<std::string> differences(Node node, const std::string& nccl, unsigned device,
                                     const std::string& rules) {
  // Its receiver answers a sender without ECE with what its memory holds (net_ib.cc, ncclIbAccept).
  if (nccl.starts_with("2.23.")) node.environment.erase("NCCL_IB_ECE_ENABLE");
  return compare(observe(node, nccl, device), predict(node, rules.empty() ? nccl : rules));
}

}  // namespace nnd::differential

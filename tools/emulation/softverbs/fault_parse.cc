#include <cerrno>
#include <cstdint>

#include "config/nearest.h"
#include "softverbs/scenario_parse.h"
#include "softverbs/words.h"

namespace softverbs {

namespace {

const Words kKinds = {{"refuse-rtr", static_cast<int>(FaultKind::kRefuseRtr)},
                      {"link-down", static_cast<int>(FaultKind::kLinkDown)},
                      {"lose-peer", static_cast<int>(FaultKind::kLosePeer)},
                      {"fail-call", static_cast<int>(FaultKind::kFailCall)},
                      {"fail-wr", static_cast<int>(FaultKind::kFailWr)},
                      {"hold-wr", static_cast<int>(FaultKind::kHoldWr)},
                      {"async-event", static_cast<int>(FaultKind::kAsyncEvent)}};

const Words kVerbs = [] {
  Words words;
  for (const char* verb :
       {"ibv_get_device_list", "ibv_open_device",   "ibv_query_device", "ibv_query_port",
        "ibv_query_gid",       "ibv_query_pkey",    "ibv_alloc_pd",     "ibv_reg_mr",
        "ibv_reg_mr_iova2",    "ibv_reg_dmabuf_mr", "ibv_create_cq",    "ibv_create_qp",
        "ibv_modify_qp",       "ibv_query_qp",      "ibv_query_ece",    "ibv_set_ece",
        "ibv_dereg_mr",        "ibv_destroy_qp",    "ibv_destroy_cq",   "ibv_dealloc_pd",
        "ibv_close_device",    "ibv_post_send",     "ibv_post_recv"})
    words.emplace_back(verb, static_cast<int>(words.size()));
  return words;
}();

void require_names(TomlReader& reader, const Fault& fault, const Scenario& scenario) {
  std::vector<std::string> hosts;
  std::vector<std::string> hcas;
  for (const Host& host : scenario.hosts) {
    hosts.push_back(host.name);
    if (!fault.host.empty() && host.name != fault.host) continue;
    for (const Hca& hca : host.hcas) hcas.push_back(hca.name);
  }
  const auto require = [&](const char* key, const std::string& name,
                           const std::vector<std::string>& names) {
    if (name.empty()) return;
    for (const auto& known : names)
      if (known == name) return;
    const std::string near = nnd::config::nearest(name, {names.begin(), names.end()});
    reader.fail(key, "there is no \"" + name + "\"" +
                         (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  };
  require("host", fault.host, hosts);
  require("hca", fault.hca, hcas);
}

}  // namespace

Fault parse_fault(const toml::table& table, const Scenario& scenario, const std::string& file) {
  TomlReader reader(table, "[[fault]]", file);
  if (!reader.has("kind")) reader.fail("kind", "every fault needs one");
  Fault fault;
  fault.kind = static_cast<FaultKind>(reader.word("kind", 0, kKinds));
  fault.host = reader.text("host", "");
  fault.hca = reader.text("hca", "");
  fault.port = static_cast<int>(reader.number("port", 0, 0, 8));
  require_names(reader, fault, scenario);
  const auto first_hit = [&] {
    fault.nth = static_cast<std::uint64_t>(reader.number("nth", 1, 1, INT64_MAX));
    fault.times = static_cast<std::uint64_t>(reader.number("times", 1, 0, INT64_MAX));
  };
  const auto moment = [&] {
    fault.at_ms = static_cast<int>(reader.number("at_ms", -1, 0, INT32_MAX));
    fault.after_messages =
        static_cast<std::uint64_t>(reader.number("after_messages", 0, 1, INT64_MAX));
    if (fault.at_ms < 0 && fault.after_messages == 0)
      reader.fail("kind", "this one needs at_ms or after_messages");
  };
  switch (fault.kind) {
    case FaultKind::kRefuseRtr:
      fault.peer_hca = reader.text("peer_hca", "");
      fault.error = reader.word("errno", ETIMEDOUT, errno_words());
      fault.delay_ms = static_cast<int>(reader.number("delay_ms", 0, 0, 600000));
      first_hit();
      if (!reader.has("times")) fault.times = 0;
      break;
    case FaultKind::kLinkDown:
      moment();
      fault.up_after_ms = static_cast<int>(reader.number("up_after_ms", -1, 0, INT32_MAX));
      break;
    case FaultKind::kLosePeer:
      if (fault.host.empty()) reader.fail("host", "the host that is lost must be named");
      moment();
      break;
    case FaultKind::kFailCall:
      if (!reader.has("verb")) reader.fail("verb", "the verb that fails must be named");
      fault.verb = kVerbs[static_cast<std::size_t>(reader.word("verb", 0, kVerbs))].first;
      fault.error = reader.word("errno", EINVAL, errno_words());
      fault.delay_ms = static_cast<int>(reader.number("delay_ms", 0, 0, 600000));
      first_hit();
      break;
    case FaultKind::kFailWr:
      fault.status = reader.word("status", 12, status_words());
      fault.vendor_err = static_cast<std::uint32_t>(
          reader.number("vendor_err", fault.status == 12 ? 129 : 0, 0, UINT32_MAX));
      first_hit();
      break;
    case FaultKind::kHoldWr:
      fault.delay_ms = static_cast<int>(reader.number("delay_ms", 0, 0, 600000));
      fault.reads = reader.flag("reads", false);
      first_hit();
      if (!reader.has("times")) fault.times = 0;
      break;
    case FaultKind::kAsyncEvent:
      fault.event = reader.word("event", 18, event_words());
      fault.empties_gid = static_cast<int>(reader.number("empties_gid", -1, 0, 4095));
      moment();
      break;
  }
  reader.finish();
  return fault;
}

}  // namespace softverbs

// The shim off and on, call by call: same devices, same properties, same data, same return codes,
// on success and with every kind of fault.
#include <future>
#include <set>

#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

constexpr int kShortMs = 5000;
constexpr std::size_t kAtOnce = 6;  // most of the time is spent waiting for a deadline

// A connection's whole life; stops at what fails, which the trace tells.
bool use(driver::Job& job, driver::Link link) {
  job.try_open(link, kShortMs);
  if (link.send_conn == 0 || link.recv_conn == 0) return false;
  driver::Traffic traffic;
  traffic.sizes = {0, 1, 70001, 1 << 18};
  traffic.offset = 5;
  traffic.flush = true;
  traffic.window = 1;  // with more in flight the order of posting and testing is chance
  driver::Traffic grouped = traffic;
  grouped.group = 2;
  grouped.optional = true;
  for (const auto& one : {traffic, grouped}) {
    const auto moved = job.try_move(link, one, kShortMs);
    for (const char* end : {"send", "recv"})
      if (moved[end]["rc"] != 0 || moved[end].value("timeout", false)) return false;
  }
  std::vector<driver::Link> links{link};
  job.close(links);
  return true;
}

// Everything that both ranks called and got, in order per object; "polls" is chance.
json calls_of(driver::Job& job) {
  json out;
  for (int rank = 0; rank < 2; ++rank) {
    json by_object;
    auto trace = job.run(rank, {{"op", "trace"}});
    for (auto& call : trace["calls"]) {
      call.erase("polls");
      by_object[call["object"].get<std::string>()].push_back(call);
    }
    out.push_back(by_object);
  }
  return out;
}

json run(const driver::Transport& transport, const std::string& scenario) {
  EmulatedJob job(scenario, 2,
                  {{"NCCL_IB_MQP_RETRY_CNT", "1"}, {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"}});
  json out;
  try {
    for (auto& rank : job->setup(transport)) {
      out["properties"].push_back(rank["properties"]);
      out["null_slots"].push_back(rank["init"]["null_slots"]);
    }
    // One after the other, so that the numbers of connections are the same each time.
    for (const auto& link : job->ring(2))
      if (!use(*job, link)) break;
  } catch (const std::exception&) {  // the trace says where
  }
  out["calls"] = calls_of(*job);
  return out;
}

// The return codes alone, by rank.
json codes(const json& run) {
  json out;
  for (const auto& rank : run["calls"]) {
    std::set<int> seen;
    for (const auto& calls : rank)
      for (const auto& call : calls) seen.insert(call["rc"].get<int>());
    out.push_back(seen);
  }
  return out;
}

enum class Effect { kAny, kNone, kFails };

struct Fault {
  std::string lines;             // of the [[fault]] table; none: no fault
  Effect effect = Effect::kAny;  // on the calls of one rank at least, in every release
};

Fault fault_of(const std::string& kind, const std::string& host, const std::string& more,
               Effect effect = Effect::kAny) {
  return {"kind = \"" + kind + "\"\nhost = \"" + host + "\"\n" + more, effect};
}
Fault at_call(const std::string& verb, const std::string& error, const std::string& more = "",
              Effect effect = Effect::kAny, const std::string& host = "node0") {
  return fault_of("fail-call", host, "verb = \"" + verb + "\"\nerrno = \"" + error + "\"\n" + more,
                  effect);
}
Fault refuse(const std::string& host, const std::string& error, const std::string& more = "",
             Effect effect = Effect::kFails) {
  return fault_of("refuse-rtr", host, "errno = \"" + error + "\"\n" + more, effect);
}
Fault fail_wr(const std::string& status, const std::string& more = "nth = 2",
              const std::string& host = "node0") {
  return fault_of("fail-wr", host, "status = \"" + status + "\"\n" + more, Effect::kFails);
}

// What NCCL's own thread learns of is only there where it ends no call: which one is chance.
std::vector<Fault> all_faults() {
  std::vector<Fault> out{
      {"", Effect::kNone},
      refuse("node0", "ETIMEDOUT"),
      refuse("node1", "ETIMEDOUT"),
      refuse("node1", "EINVAL", "delay_ms = 20"),
      refuse("node1", "ETIMEDOUT", "times = 1", Effect::kAny),  // tried again from 2.24
      fail_wr("RETRY_EXC_ERR"),
      fail_wr("RNR_RETRY_EXC_ERR"),
      fail_wr("LOC_PROT_ERR"),
      fail_wr("REM_ACCESS_ERR"),
      fail_wr("WR_FLUSH_ERR"),
      fail_wr("RETRY_EXC_ERR", "nth = 5", "node1"),
      fault_of("link-down", "node0", "after_messages = 3"),
      fault_of("link-down", "node1", "after_messages = 3\nup_after_ms = 20"),
      fault_of("lose-peer", "node1", "after_messages = 3"),
      fault_of("async-event", "node0", "event = \"GID_CHANGE\"\nafter_messages = 2", Effect::kNone),
      fault_of("async-event", "node1", "event = \"PORT_ERR\"\nafter_messages = 2", Effect::kNone),
      at_call("ibv_open_device", "EIO", "times = 0"),
      at_call("ibv_alloc_pd", "ENOMEM", "nth = 2"),
      at_call("ibv_modify_qp", "EINVAL", "nth = 3", Effect::kFails),
      at_call("ibv_reg_mr", "ENOMEM", "nth = 3"),
      at_call("ibv_create_qp", "ENOMEM", "", Effect::kFails, "node1")};
  for (const char* verb :
       {"ibv_get_device_list", "ibv_open_device", "ibv_query_device", "ibv_query_port",
        "ibv_query_gid", "ibv_query_pkey", "ibv_alloc_pd", "ibv_reg_mr", "ibv_reg_mr_iova2",
        "ibv_reg_dmabuf_mr", "ibv_query_ece", "ibv_set_ece", "ibv_dereg_mr", "ibv_dealloc_pd"})
    out.push_back(at_call(verb, "EIO"));
  for (const char* verb : {"ibv_create_cq", "ibv_create_qp", "ibv_modify_qp", "ibv_post_send",
                           "ibv_post_recv", "ibv_destroy_qp", "ibv_destroy_cq"})
    out.push_back(at_call(verb, "ENOMEM", "", Effect::kFails));
  return out;
}

}  // namespace

TEST_CASE("off and on, nine HCAs are the same devices") {
  const auto off = run(builtin(), "two-nodes-8-hca-bond.toml");
  const auto on = run(shim(), "two-nodes-8-hca-bond.toml");
  CHECK(off["properties"][0].size() == 9);
  CHECK(off["calls"][0].size() > 10);
  CHECK(json::diff(off, on) == json::array());
}

TEST_CASE("off and on, every fault ends the same way") {
  const auto faults = all_faults();
  for (std::size_t first = 0; first < faults.size(); first += kAtOnce) {
    std::vector<std::future<json>> offs, ons;
    const auto last = std::min(first + kAtOnce, faults.size());
    for (std::size_t i = first; i < last; ++i) {
      const auto& lines = faults[i].lines;
      const auto text = two_hosts(lines.empty() ? "" : "[[fault]]\n" + lines);
      offs.push_back(std::async(std::launch::async, run, builtin(), text));
      ons.push_back(std::async(std::launch::async, run, shim(), text));
    }
    for (std::size_t i = first; i < last; ++i) {
      CAPTURE(faults[i].lines);
      const auto off = offs[i - first].get(), on = ons[i - first].get();
      CHECK(!off["calls"][0].empty());
      CHECK(json::diff(off, on) == json::array());
      const json kFine = {{0}, {0}};
      if (faults[i].effect == Effect::kNone) CHECK(codes(off) == kFine);
      if (faults[i].effect == Effect::kFails) CHECK(codes(off) != kFine);
    }
  }
}

namespace {

// Two inits with a finalize after the first, which failed; then all anew, as when the plugin was
// unloaded. What each returned, and whether it then carries data.
json run_init(const driver::Transport& transport, const Fault& fault, std::vector<json>* events) {
  EmulatedJob job(two_hosts("[[fault]]\n" + fault.lines));
  json out;
  job->all(transport.request());
  for (const char* round : {"first", "again", "loaded anew"}) {
    json& told = out[round];
    const auto inits = job->all({{"op", "init"}});
    const auto devices = job->all({{"op", "devices"}});
    for (std::size_t i = 0; i < inits.size(); ++i) {
      told.push_back({inits[i]["rc"], devices[i]["rc"], devices[i]["count"]});
      // 2.28.9 and 2.29.2 do so after a failed init as well.
      const auto ended =
          job->run(static_cast<int>(i), {{"op", "finalize"}, {"context", inits[i]["context"]}});
      told.back().push_back(ended["rc"]);
    }
    if (std::string(round) == "first") continue;
    job->all({{"op", "unload"}});
    job->all(transport.request());
  }
  try {
    job->setup(transport);
    auto links = job->ring(1);
    job->open(links);
    out["bytes"] = job->move(links, {});
    job->close(links);
    job->finish();
  } catch (const std::exception&) {
    out["bytes"] = nullptr;
  }
  job->exit();
  if (events != nullptr) {
    job.check_logs();
    *events = job.log(0);
  }
  return out;
}

}  // namespace

TEST_CASE("off and on, an init that fails once and is tried again") {
  const auto fault =
      GENERATE(at_call("ibv_get_device_list", "ENOMEM"), at_call("ibv_open_device", "EIO"),
               at_call("ibv_query_device", "EIO"));
  CAPTURE(fault.lines);
  const auto off = run_init(builtin(), fault, nullptr);
  std::vector<json> events;
  const auto on = run_init(shim(), fault, &events);
  CHECK(json::diff(off, on) == json::array());
  // Each init is told as it ended.
  std::vector<json> told, ended;
  for (const auto& event : of_kind(events, "comm.init")) told.push_back(event["rc"]);
  for (const char* round : {"first", "again", "loaded anew"}) ended.push_back(on[round][0][0]);
  REQUIRE(told.size() >= ended.size());
  told.resize(ended.size());
  CHECK(told == ended);
}

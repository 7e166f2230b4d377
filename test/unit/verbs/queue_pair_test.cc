// QPs: whose they are, and every move as an event.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "facts/node.h"
#include "state/connections.h"
#include "support/catch.h"
#include "verbs/hooks.h"
#include "verbs/qp_events.h"
#include "verbs/qp_retries.h"
#include "world.h"

namespace state = nnd::state;
namespace facts = nnd::facts;
using nlohmann::json;

namespace {

ibv_qp_attr rtr(std::uint8_t fourth = 9) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = 777;
  attr.rq_psn = 5;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.grh.traffic_class = 106;
  attr.ah_attr.grh.hop_limit = 255;
  auto* raw = attr.ah_attr.grh.dgid.raw;  // 10.0.4.<fourth>
  raw[10] = raw[11] = 0xff;
  raw[12] = 10;
  raw[14] = 4;
  raw[15] = fourth;
  return attr;
}
constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                         IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER;

void to_init(const World& w, ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  REQUIRE(w.verbs.modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX) == 0);
}

int to_rts(const World& w, ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 20;
  attr.retry_cnt = 10;
  attr.rnr_retry = 7;
  return w.verbs.modify_qp(qp, &attr,
                           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

state::Identity connection(std::uint32_t id) {
  state::Identity conn;
  conn.id = id;
  conn.dir = state::Direction::kSend;
  conn.link_proc = 0xabc;
  conn.link_listen = 3;
  return conn;
}

// The events of one QP.
std::vector<json> of_qp(const std::string& name, unsigned num) {
  std::vector<json> events = take_events(name);
  std::erase_if(events, [&](const json& e) { return e["qp"].value("num", 0U) != num; });
  return events;
}

}  // namespace

TEST_CASE("The QP that NCCL flushes with is nobody's peer") {
  const Opened device;
  state::Identity about;
  about.dir = state::Direction::kRecv;
  state::Connection* const c =
      state::open_connection(state::ConnectionKind::kRecv, 11, about, nullptr);
  const state::Scope scope(state::Call::kAccept, c->about);
  const auto move = [&](ibv_qp_attr attr) {
    ibv_qp* const qp = device.qp();
    to_init(device.w, qp);
    if (attr.dest_qp_num == 0) attr.dest_qp_num = qp->qp_num;
    CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
  };
  move(rtr());
  ibv_qp_attr own = rtr();
  own.dest_qp_num = 0;
  ibv_gid gid{};
  REQUIRE(device.w.verbs.query_gid(device.context, 1, 3, &gid) == 0);
  own.ah_attr.grh.dgid = gid;
  move(own);
  CHECK(state::current().peer_gid[15] == 9);
  state::ConnectionEnds ends;
  REQUIRE(c->ends.get(ends));
  CHECK(ends.remote_gid[15] == 9);
  state::QpSummary flush;
  REQUIRE(c->qp(1).get(flush));
  CHECK(flush.leads_to_itself());
  // Another process behind the same port.
  own.dest_qp_num = 778;
  move(own);
  CHECK(state::current().peer_gid == flush.gid);
  state::release_connection(*c);
}

TEST_CASE("A connection's entry tells how far its QPs are, and of each of them") {
  const Opened device;
  state::Identity about;
  about.dir = state::Direction::kSend;
  state::Connection* const c =
      state::open_connection(state::ConnectionKind::kSend, 11, about, nullptr);
  CHECK(c->stage == state::Stage::kOpening);
  ibv_qp* qp = nullptr;
  {
    const state::Scope scope(state::Call::kConnect, c->about);
    qp = device.qp();
  }
  CHECK(c->stage == state::Stage::kQpMade);
  to_init(device.w, qp);
  CHECK(c->stage == state::Stage::kInit);
  state::ConnectionEnds ends;
  CHECK((c->ends.get(ends) && ends.port == 0));

  ibv_qp_attr attr = rtr();
  device.w.verbs.control->modify_error = ETIMEDOUT;
  device.w.verbs.control->modify_failures = 2;
  CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == ETIMEDOUT);
  CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == ETIMEDOUT);
  CHECK(c->stage == state::Stage::kInit);
  CHECK(c->moving_attempt == 2);
  CHECK(c->moving_to == IBV_QPS_RTR);
  CHECK(c->moving_since == 0);
  CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
  CHECK(c->stage == state::Stage::kRtr);
  CHECK(to_rts(device.w, qp) == 0);
  CHECK(c->stage == state::Stage::kRts);

  state::QpSummary told;
  REQUIRE(c->qp(0).get(told));
  CHECK(c->qps == 1);
  CHECK(told.num == qp->qp_num);
  CHECK(told.remote_num == 777);
  CHECK(told.state == IBV_QPS_RTS);
  CHECK(told.path_mtu == 4096);
  CHECK(told.traffic_class == 106);
  CHECK(told.timeout == 20);
  CHECK(told.retry_cnt == 10);
  CHECK(told.rnr_retry == 7);
  CHECK(told.gid_index == 3);
  CHECK(told.remote_gid[15] == 9);
  CHECK(told.attempts == 3);
  REQUIRE(c->ends.get(ends));
  CHECK(ends.device == std::string_view("fake_0"));
  CHECK(ends.port == 1);
  CHECK(ends.gid_index == 3);
  CHECK(ends.remote_gid[15] == 9);

  // The entry is another's by now: nothing is written there.
  state::release_connection(*c);
  state::Connection* const other =
      state::open_connection(state::ConnectionKind::kRecv, 11, about, nullptr);
  REQUIRE(other == c);
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
  CHECK(other->qps == 0);
  CHECK(other->stage == state::Stage::kOpening);
  state::release_connection(*other);
}

TEST_CASE("A QP belongs to the connection that made it, whoever moves it later") {
  const Opened device;
  ibv_qp* qp = nullptr;
  {
    const state::Scope scope(state::Call::kConnect, connection(7));
    qp = device.qp();
    to_init(device.w, qp);
    ibv_qp_attr attr = rtr();
    CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
  }
  CHECK(to_rts(device.w, qp) == 0);
  const unsigned num = qp->qp_num;
  const auto created = of_qp("qp.create", num);
  REQUIRE(created.size() == 1);
  CHECK(created[0]["conn"] == 7);
  CHECK(created[0]["dir"] == "send");
  CHECK(created[0]["link"]["listen"] == 3);
  CHECK(created[0]["qp"]["type"] == "RC");
  CHECK(created[0]["qp"]["max_send_wr"] == 64);
  CHECK(created[0]["dev"]["name"] == "fake_0");
  CHECK_FALSE(created[0].contains("owner"));

  const auto moves = of_qp("qp.transition", num);
  REQUIRE(moves.size() == 3);
  CHECK(moves[0]["qp"]["from"] == "RESET");
  CHECK(moves[0]["qp"]["to"] == "INIT");
  CHECK(moves[0]["dev"]["port"] == 1);
  CHECK(moves[1]["qp"]["to"] == "RTR");
  CHECK(moves[1]["qp"]["remote_num"] == 777);
  CHECK(moves[1]["qp"]["path_mtu"] == 4096);
  CHECK(moves[1]["qp"]["traffic_class"] == 106);
  CHECK(moves[1]["qp"]["hop_limit"] == 255);
  CHECK(moves[1]["qp"]["rq_psn"] == 5);
  CHECK_FALSE(moves[1]["qp"].contains("timeout"));
  CHECK(moves[1]["dev"]["gid"] == "::ffff:10.0.0.2");
  CHECK(moves[1]["dev"]["gid_index"] == 3);
  CHECK(moves[1]["peer"]["gid"] == "::ffff:10.0.4.9");
  CHECK(moves[1]["rc"] == 0);
  CHECK(moves[2]["conn"] == 7);
  CHECK(moves[2]["owner"] == "recovery");  // from outside of every net call
  CHECK(moves[2]["qp"]["timeout"] == 20);

  CHECK(device.w.verbs.destroy_qp(qp) == 0);
  const auto gone = of_qp("qp.destroy", num);
  REQUIRE(gone.size() == 1);
  CHECK(gone[0]["conn"] == 7);
  CHECK(gone[0]["qp"]["completed"] == 0);
}

TEST_CASE("What the device made of the attributes is read back once per attribute set") {
  const Opened device;
  const int before = device.w.verbs.control->query_qp_calls;
  std::vector<json> last;
  for (int i = 0; i < 3; ++i) {
    ibv_qp* qp = device.qp();
    to_init(device.w, qp);
    ibv_qp_attr attr = rtr();
    CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
    CHECK(to_rts(device.w, qp) == 0);
    const auto moves = of_qp("qp.transition", qp->qp_num);
    REQUIRE(moves.size() == 3);
    CHECK(moves[2]["qp"].contains("effective") == (i == 0));
    if (i == 0) {
      CHECK(moves[2]["qp"]["retry_cnt"] == 10);
      CHECK(moves[2]["qp"]["effective"]["retry_cnt"] == 2);
    }
    CHECK(device.w.verbs.destroy_qp(qp) == 0);
  }
  CHECK(device.w.verbs.control->query_qp_calls == before + 1);
}

TEST_CASE("A QP made outside of every connection says who made it") {
  const Opened device;
  ibv_qp* qp = device.qp();
  ibv_qp_init_attr attr{};
  const auto plain = reinterpret_cast<ibv_qp* (*)(ibv_pd*, ibv_qp_init_attr*)>(
      device.w.nccl.dlsym(device.w.library, "ibv_create_qp"));
  ibv_qp* gdaki = plain(device.pd, &attr);
  ibv_qp* gin = nullptr;
  {
    const state::Scope scope(state::Call::kGin, {});
    gin = device.qp();
    to_init(device.w, gin);
  }
  const auto events = take_events("qp.create");
  REQUIRE(events.size() >= 3);
  CHECK(events[events.size() - 3]["owner"] == "unknown");
  CHECK(events[events.size() - 2]["owner"] == "gdaki");
  CHECK(events.back()["owner"] == "gin");
  CHECK_FALSE(events.back().contains("conn"));
  CHECK(of_qp("qp.transition", gin->qp_num).at(0)["owner"] == "gin");
  CHECK(device.w.verbs.destroy_qp(gin) == 0);
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
  CHECK(device.w.verbs.destroy_qp(gdaki) == 0);
}

TEST_CASE("Repeated attempts are told at 1, 2, 4, 8 and at the end, the first as a warning") {
  const Opened device;
  const state::Scope scope(state::Call::kConnect, connection(8));
  ibv_qp* qp = device.qp();
  to_init(device.w, qp);
  take_events("qp.transition");
  device.w.verbs.control->modify_failures = 10;
  device.w.verbs.control->modify_error = ETIMEDOUT;
  ibv_qp_attr attr = rtr();
  errno = 0;
  for (int i = 0; i < 10; ++i) CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == ETIMEDOUT);
  CHECK(errno == 0);
  CHECK(state::current().failed_errno == ETIMEDOUT);
  CHECK(std::strcmp(state::current().failed_verb, "ibv_modify_qp") == 0);
  CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
  const auto moves = of_qp("qp.transition", qp->qp_num);
  std::vector<int> attempts;
  for (const json& move : moves) attempts.push_back(move["qp"]["attempt"].get<int>());
  CHECK(attempts == std::vector<int>{1, 2, 4, 8, 11});
  CHECK(moves[0]["sev"] == "warn");
  CHECK(moves[0]["cause"] == "QP-110");
  CHECK(moves[0]["errno"] == ETIMEDOUT);
  const std::string msg = moves[0]["msg"];
  for (const char* part : {"fake_0:1", "10.0.0.2", "10.0.4.9", "110", "attempt 1", "INIT", "RTR"})
    CHECK(msg.find(part) != std::string::npos);
  CHECK_FALSE(moves[0]["fix"].get<std::string>().empty());
  CHECK(moves[1]["sev"] == "info");
  CHECK(moves[4]["rc"] == 0);
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
}

TEST_CASE("The last attempt that NCCL makes is told too") {
  const Opened device;
  const auto told = [&](int attempts, int error) {
    ibv_qp* qp = device.qp();
    to_init(device.w, qp);
    take_events("qp.transition");
    device.w.verbs.control->modify_failures = attempts;
    device.w.verbs.control->modify_error = error;
    ibv_qp_attr attr = rtr();
    for (int i = 0; i < attempts; ++i)
      CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == error);
    std::vector<int> out;
    for (const json& move : of_qp("qp.transition", qp->qp_num))
      out.push_back(move["qp"]["attempt"].get<int>());
    CHECK(device.w.verbs.destroy_qp(qp) == 0);
    return out;
  };
  nnd::verbs::set_nccl_version(22809);
  CHECK(told(35, ETIMEDOUT) == std::vector<int>{1, 2, 4, 8, 16, 32, 35});
  setenv("NCCL_IB_MQP_RETRY_CNT", "5", 1);
  CHECK(told(6, ETIMEDOUT) == std::vector<int>{1, 2, 4, 6});
  unsetenv("NCCL_IB_MQP_RETRY_CNT");
  nnd::verbs::set_nccl_version(0);
}

TEST_CASE("Port recovery is told as what moves the QPs of a live connection") {
  const Opened device;
  ibv_qp* qp = nullptr;
  ibv_qp_attr attr = rtr();
  {
    const state::Scope scope(state::Call::kConnect, connection(12));
    qp = device.qp();
    to_init(device.w, qp);
    CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
    CHECK(to_rts(device.w, qp) == 0);
  }
  std::thread([&] {  // NCCL 2.30.3: net_ib/p2p_resiliency_recovery.cc
    ibv_qp_attr reset{};
    reset.qp_state = IBV_QPS_RESET;
    CHECK(device.w.verbs.modify_qp(qp, &reset, IBV_QP_STATE) == 0);
    to_init(device.w, qp);
    ibv_qp_attr again = rtr();
    CHECK(device.w.verbs.modify_qp(qp, &again, kRtrMask) == 0);
    CHECK(to_rts(device.w, qp) == 0);
  })
      .join();
  const auto moves = of_qp("qp.transition", qp->qp_num);
  REQUIRE(moves.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(moves[i]["conn"] == 12);
    CHECK(moves[i].contains("owner") == (i >= 3));
    if (i >= 3) CHECK(moves[i]["owner"] == "recovery");
  }
  CHECK(moves[3]["qp"]["to"] == "RESET");
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
}

TEST_CASE("What is known of the two ends decides the cause") {
  const Opened device;
  facts::Node node;
  node.hcas.resize(1);
  node.hcas[0].name = "fake_0";
  node.hcas[0].ports.resize(1);
  facts::Port& port = node.hcas[0].ports[0];
  port.link_layer = 2;
  port.gids.resize(1);
  facts::Gid& gid = port.gids[0];
  gid.index = 3;
  gid.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
  gid.address = facts::parse_prefix("10.0.0.2/24");
  gid.owner_ifindex = 7;
  gid.netdev = "ens7";
  node.network.known = node.network.routes_complete = true;
  node.network.devs.resize(1);
  node.network.devs[0].ifindex = 7;
  node.network.devs[0].name = "ens7";
  facts::set_current_node(node);

  const auto fail_with = [&](int error) {
    ibv_qp* qp = device.qp();
    to_init(device.w, qp);
    take_events("qp.transition");
    device.w.verbs.control->modify_failures = 1;
    device.w.verbs.control->modify_error = error;
    ibv_qp_attr attr = rtr();
    CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == error);
    const auto moves = of_qp("qp.transition", qp->qp_num);
    CHECK(device.w.verbs.destroy_qp(qp) == 0);
    return moves.at(0);
  };
  json event = fail_with(ETIMEDOUT);
  CHECK(event["cause"] == "SUB-RAIL");
  CHECK(event["dev"]["subnet"] == "10.0.0.0/24");
  CHECK(event["dev"]["netdev"] == "ens7");
  CHECK(event["peer"]["subnet"] == "10.0.4.0/24");
  CHECK(event["msg"].get<std::string>().find("10.0.0.0/24") != std::string::npos);
  CHECK(fail_with(ENODEV)["cause"] == "QP-19");  // has nothing to do with subnets

  gid.address = facts::parse_prefix("10.0.0.2/16");
  facts::set_current_node(node);
  event = fail_with(ETIMEDOUT);
  CHECK(event["cause"] == "QP-110");
  CHECK(event["peer"]["subnet"] == "10.0.0.0/16");

  gid.raw[15] = 77;  // the facts are of another time: nothing is concluded from them
  gid.address = facts::parse_prefix("10.0.0.77/24");
  facts::set_current_node(node);
  event = fail_with(ETIMEDOUT);
  CHECK(event["cause"] == "QP-110");
  CHECK_FALSE(event["dev"].contains("subnet"));
  facts::set_current_node({});
}

TEST_CASE("A pair that may not be is stopped at its first RTR, a live connection never") {
  const Opened device;
  ibv_qp* qp = device.qp();
  to_init(device.w, qp);
  take_events("qp.transition");
  nnd::verbs::Hooks hooks;
  hooks.may_pair = [](const nnd::state::QpInfo& info) { return info.remote_gid[15] != 9; };
  nnd::verbs::set_hooks(&hooks);
  ibv_qp_attr attr = rtr();
  CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == EHOSTUNREACH);
  CHECK(qp->state == IBV_QPS_INIT);
  auto moves = of_qp("qp.transition", qp->qp_num);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0]["qp"]["refused"] == true);
  CHECK(moves[0]["errno"] == EHOSTUNREACH);
  attr = rtr(8);
  CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  CHECK(device.w.verbs.modify_qp(qp, &reset, IBV_QP_STATE) == 0);
  to_init(device.w, qp);
  attr = rtr();
  CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == 0);
  nnd::verbs::set_hooks(nullptr);
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
}

TEST_CASE("Each errno of a refused RTR has its cause") {
  const Opened device;
  const auto cause_of = [&](int error, ibv_qp_attr attr) {
    ibv_qp* qp = device.qp();
    to_init(device.w, qp);
    take_events("qp.transition");
    device.w.verbs.control->modify_failures = 1;
    device.w.verbs.control->modify_error = error;
    CHECK(device.w.verbs.modify_qp(qp, &attr, kRtrMask) == error);
    const auto moves = of_qp("qp.transition", qp->qp_num);
    CHECK(device.w.verbs.destroy_qp(qp) == 0);
    return moves.at(0)["cause"].get<std::string>();
  };
  CHECK(cause_of(EINVAL, rtr()) == "QP-22");
  CHECK(cause_of(ENODATA, rtr()) == "QP-61");
  CHECK(cause_of(ENETUNREACH, rtr()) == "QP-101");
  CHECK(cause_of(EHOSTUNREACH, rtr()) == "QP-113");
  CHECK(cause_of(ENOMEM, rtr()) == "QP-12");
  CHECK(cause_of(EPERM, rtr()) == "QP-1");
  CHECK(cause_of(EIO, rtr()) == "QP-ERRNO");
  ibv_qp_attr mixed = rtr();
  mixed.ah_attr.grh.sgid_index = 0;  // fe80::1 here, IPv4 there
  CHECK(cause_of(EINVAL, mixed) == "GID-DIFF");
}

TEST_CASE("A QP that can't be made is told with its errno, which reaches the caller") {
  const Opened device;
  const state::Scope scope(state::Call::kAccept, connection(9));
  device.w.verbs.control->create_qp_errno = ENOMEM;
  errno = 0;
  CHECK(device.qp() == nullptr);
  CHECK(errno == ENOMEM);
  device.w.verbs.control->create_qp_errno = 0;
  CHECK(std::strcmp(state::current().failed_verb, "ibv_create_qp") == 0);
  const auto events = take_events("qp.create");
  REQUIRE_FALSE(events.empty());
  CHECK(events.back()["cause"] == "LIM-MEMLOCK2");
  CHECK(events.back()["errno"] == ENOMEM);
  CHECK(events.back()["conn"] == 9);
}

TEST_CASE("A QP whose destruction fails is still known") {
  const Opened device;
  const state::Scope scope(state::Call::kConnect, connection(10));
  ibv_qp* qp = device.qp();
  device.w.verbs.control->destroy_qp_error = EBUSY;
  CHECK(device.w.verbs.destroy_qp(qp) == EBUSY);
  device.w.verbs.control->destroy_qp_error = 0;
  take_events("qp.transition");
  to_init(device.w, qp);
  const auto moves = of_qp("qp.transition", qp->qp_num);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0]["conn"] == 10);
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
}

TEST_CASE("QPs that mlx5dv_create_qp makes are QPs like others") {
  const Opened device;
  REQUIRE(device.w.verbs.mlx5_create_qp != nullptr);
  ibv_qp_init_attr_ex attr{};
  attr.qp_type = IBV_QPT_RC;
  attr.cap.max_send_wr = 32;
  mlx5dv_qp_init_attr mlx5{};
  mlx5.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
  const state::Scope scope(state::Call::kConnect, connection(14));
  ibv_qp* qp = device.w.verbs.mlx5_create_qp(device.context, &attr, &mlx5);
  REQUIRE(qp != nullptr);
  CHECK(device.w.verbs.control->mlx5_create_flags == MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE);
  const auto created = of_qp("qp.create", qp->qp_num);
  REQUIRE(created.size() == 1);
  CHECK(created[0]["conn"] == 14);
  CHECK(created[0]["qp"]["max_send_wr"] == 32);
  CHECK(created[0]["qp"]["max_inline"] == 64);
  to_init(device.w, qp);
  CHECK(of_qp("qp.transition", qp->qp_num).at(0)["conn"] == 14);
  CHECK(device.w.verbs.destroy_qp(qp) == 0);

  device.w.verbs.control->create_qp_errno = EINVAL;
  errno = 0;
  CHECK(device.w.verbs.mlx5_create_qp(device.context, &attr, &mlx5) == nullptr);
  CHECK(errno == EINVAL);
  device.w.verbs.control->create_qp_errno = 0;
  CHECK(std::strcmp(state::current().failed_verb, "mlx5dv_create_qp") == 0);
  CHECK(take_events("qp.create").back()["errno"] == EINVAL);
}

// The events of a connection's life, as they get into the log.
#include <array>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "as_nccl.h"
#include "context/raw_clock.h"
#include "net/connector.h"
#include "record/recorder.h"
#include "state/awaited.h"
#include "support/forked.h"
#include "support/recorded.h"

using fake::AsNccl;
using fake::Result;
using fake::state;
using Json = nlohmann::json;

namespace {

template <class F>
std::vector<Json> log_of(F f) {
  return nnd::test::recorded([&] {
    while (nnd::context::raw_clock::reference().hz == 0) nnd::context::raw_clock::calibrate();
    nnd::net::watch_requests();
    return f();
  });
}

// The only one of this name; null: there is none.
const Json* find(const std::vector<Json>& log, const char* event) {
  const Json* found = nullptr;
  for (const Json& line : log) {
    if (line.at("ev") != event) continue;
    REQUIRE(found == nullptr);
    found = &line;
  }
  return found;
}

const Json& the(const std::vector<Json>& log, const char* event) {
  const Json* found = find(log, event);
  INFO(event);
  REQUIRE(found != nullptr);
  return *found;
}

// What NCCL's logger was told last at WARN: its last error.
std::string warned;

void keep_warning(int level, unsigned long, const char*, int, const char* format, ...) {
  constexpr int kWarn = 2;
  std::array<char, 2048> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (level == kWarn) warned = text.data();
}

// The log of a connect that fails when a verb, or none, failed in it.
std::vector<Json> log_of_failed_connect(const char* failed_verb, int failed_errno) {
  static const char* verb;
  static int error;
  verb = failed_verb;
  error = failed_errno;
  static nccl_abi::NetV12 table;
  table = *fake::transport<nccl_abi::NetV12>();
  table.connect = [](void*, int, void*, void**, nccl_abi::NetDeviceHandle**) {
    nnd::state::current().failed_verb = verb;
    nnd::state::current().failed_errno = error;
    return Result::kSystemError;
  };
  AsNccl<nccl_abi::NetV12> n(&table);
  return log_of([&] {
    n.init();
    AsNccl<nccl_abi::NetV12>::Handle handle{};
    void* send = nullptr;
    n.connect(0, handle, &send);
  });
}

}  // namespace

TEST_CASE("a send that waits for the peer's receive, and how long") {
  AsNccl<nccl_abi::NetV12> n;
  const auto log = log_of([&] {
    n.init();
    AsNccl<nccl_abi::NetV12>::Handle handle{};
    void* send = nullptr;
    n.connect(0, handle, &send);
    void* request = nullptr;
    for (int sends = 0; sends < 2; ++sends) {
      state().accepts_request = false;
      for (int calls = 0; calls < 3; ++calls) n.isend(send, 100, &request);
      state().accepts_request = true;
      n.isend(send, 100, &request);
      n.isend(send, 100, &request);
    }
    n.net.closeSend(send);
    n.net.finalize(n.ctx);
  });
  const Json& close = the(log, "conn.close");
  CHECK(close.at("started") == 4);
  CHECK(close.at("peer_wait_us") > 0);
  int waits = 0;
  for (const auto& [least, count] : close.at("peer_wait_ns").items()) waits += count.get<int>();
  CHECK(waits == 2);
}

TEST_CASE("a transport that its user turned off is no failure") {
  const bool off = GENERATE(true, false);
  AsNccl<nccl_abi::NetV12> n;
  state().answer["init"] = Result::kInternalError;
  if (off) ::setenv("NCCL_IB_DISABLE", "1", 1);
  const auto log = log_of([&] { n.init(); });
  ::unsetenv("NCCL_IB_DISABLE");
  const Json& told = the(log, "comm.init");
  CHECK(told.at("rc") == static_cast<int>(Result::kInternalError));
  CHECK(told.at("sev") == (off ? "info" : "error"));
  CHECK(told.contains("failure") == !off);
}

TEST_CASE("a connection's life is told") {
  AsNccl<nccl_abi::NetV12> n;
  const auto log = log_of([&] {
    n.init();
    nccl_abi::NetPropertiesV12 props;
    n.net.getProperties(0, &props);
    n.net.getProperties(0, &props);
    AsNccl<nccl_abi::NetV12>::Handle handle{};
    void* listener = nullptr;
    void* send = nullptr;
    n.listen(0, handle, &listener);
    state().polls_until_ready = 2;
    for (int i = 0; i < 3; ++i) n.connect(0, handle, &send);
    void* request = nullptr;
    n.isend(send, 100, &request);
    state().done = true;
    int done = 0;
    n.net.test(request, &done, nullptr);
    n.isend(send, 100, &request);
    n.net.closeSend(send);
    n.net.closeListen(listener);
    n.net.finalize(n.ctx);
  });

  std::vector<std::string> told;
  for (const Json& line : log) told.push_back(line.at("ev"));
  CHECK(told == std::vector<std::string>{"comm.init", "net.device", "conn.listen", "conn.open",
                                         "conn.ready", "req.post", "req.done", "req.post",
                                         "conn.close", "comm.finalize", "summary"});
  CHECK(the(log, "comm.init").at("comm") == "0xc0");
  CHECK(the(log, "net.device").at("dev").at("pci") == "0000:00:01.0");

  // Nobody has told whose connection it is.
  CHECK_FALSE(the(log, "conn.ready").contains("rank"));
  CHECK_FALSE(the(log, "conn.ready").contains("channel"));
  const Json& listen = the(log, "conn.listen");
  const Json& open = the(log, "conn.open");
  const Json& ready = the(log, "conn.ready");
  const Json& close = the(log, "conn.close");
  CHECK(listen.at("trailer") == true);
  CHECK(open.at("dir") == "send");
  CHECK(open.at("comm") == "0xc0");
  CHECK(open.at("dev").at("name") == "fake0");
  CHECK(open.at("link") == listen.at("link"));
  CHECK(open.at("peer").at("gid") == "fd00::");
  CHECK(ready.at("conn") == open.at("conn"));
  CHECK(ready.at("polls") == 3);
  CHECK(close.at("conn") == open.at("conn"));
  CHECK(close.at("started") == 2);
  CHECK(close.at("completed") == 1);
  CHECK(close.at("in_flight") == 1);
  CHECK(close.at("oldest_us") > 0);
  CHECK(close.at("bytes") == 100);
  CHECK(close.at("latency_ns").size() == 1);
  CHECK_FALSE(close.contains("peer_wait_ns"));
  const std::vector<Json> posts = nnd::test::only(log, "req.post");
  REQUIRE(posts.size() == 2);
  CHECK(posts[0].at("bytes") == 100);
  CHECK(posts[0].at("conn") == open.at("conn"));
  CHECK(the(log, "req.done").at("kind") == "send");
  CHECK(the(log, "req.done").at("conn") == open.at("conn"));
  CHECK(the(log, "comm.finalize").at("open_connections") == 0);
}

TEST_CASE("conn.ready and conn.close tell the whole of a connection") {
  static nccl_abi::NetV12 table;
  table = *fake::transport<nccl_abi::NetV12>();
  // What the verbs layer does in a connect.
  table.connect = [](void*, int, void*, void** comm, nccl_abi::NetDeviceHandle**) {
    nnd::state::Connection& c = *nnd::state::current().conn.entry;
    nnd::state::ConnectionEnds ends;
    ends.device = "mlx5_0";
    ends.netdev = "ens1np0";
    ends.subnet = "10.0.1.0/24";
    ends.remote_subnet = "10.0.2.0/24";
    ends.link_layer = "Ethernet";
    ends.port = 1;
    ends.gid_index = 3;
    ends.gid[0] = 0xfd;
    ends.remote_gid[0] = 0xfe;
    ends.mtu = 4096;
    ends.numa = 1;
    c.ends.set(ends);
    nnd::state::Labels labels;
    labels.rank = 3;
    labels.peer_rank = 7;
    labels.channel = 2;
    labels.how = nnd::state::LabelOrigin::kExact;
    c.labels.set(labels);
    nnd::state::QpSummary qp;
    qp.num = 17;
    qp.remote_num = 18;
    qp.gid = ends.gid;
    qp.remote_gid = ends.remote_gid;
    qp.path_mtu = 4096;
    qp.sl = 3;
    qp.traffic_class = 106;
    qp.timeout = 20;
    qp.retry_cnt = 7;
    qp.rnr_retry = 7;
    qp.attempts = 2;
    qp.rtr_us = 1026;
    qp.state = 2;  // RTR
    c.qp(0).set(qp);
    c.qps = 1;
    *comm = reinterpret_cast<void*>(0x4242);
    return Result::kSuccess;
  };
  AsNccl<nccl_abi::NetV12> n(&table);
  const auto log = log_of([&] {
    n.init();
    AsNccl<nccl_abi::NetV12>::Handle handle{};
    void* send = nullptr;
    n.connect(0, handle, &send);
    n.net.closeSend(send);
  });
  for (const char* name : {"conn.ready", "conn.close"}) {
    CAPTURE(name);
    const Json& event = the(log, name);
    CHECK(event.at("rank") == 3);
    CHECK(event.at("channel") == 2);
    CHECK(event.at("peer") == Json::parse(R"({"rank":7,"gid":"fe00::","subnet":"10.0.2.0/24"})"));
  }
  const Json& ready = the(log, "conn.ready");
  CHECK(ready.at("dev") == Json::parse(R"({"index":0,"name":"mlx5_0","port":1,"mtu":4096,
    "gid_index":3,"gid":"fd00::","subnet":"10.0.1.0/24","netdev":"ens1np0"})"));
  CHECK(ready.at("qp_count") == 1);
  CHECK(ready.at("qps") == Json::parse(R"([{"num":17,"remote_num":18,"state":"RTR",
    "path_mtu":4096,"sl":3,"traffic_class":106,"timeout":20,"retry_cnt":7,"rnr_retry":7,
    "attempts":2,"init_us":0,"rtr_us":1026,"rts_us":0}])"));
  CHECK(the(log, "conn.close").at("dev") == Json::parse(R"({"index":0,"name":"mlx5_0","port":1})"));
}

TEST_CASE("a failed connect tells the verb that failed") {
  const auto log = log_of_failed_connect("ibv_modify_qp", 110);
  const Json& fail = the(log, "conn.fail");
  CHECK(fail.at("rc") == 2);
  CHECK(fail.at("stage") == "connect");
  CHECK(fail.at("polls") == 1);
  CHECK(fail.at("verb") == "ibv_modify_qp");
  CHECK(fail.at("errno") == 110);
  CHECK(fail.at("cause") == "QP-110");
  CHECK(fail.at("sev") == "error");
  CHECK(find(log, "conn.ready") == nullptr);
}

TEST_CASE("the message of a call that fails says whom its process waited for") {
  const auto said = [](bool waits) {
    static nccl_abi::NetV12 table;
    table = *fake::transport<nccl_abi::NetV12>();
    table.connect = [](void*, int, void*, void**, nccl_abi::NetDeviceHandle**) {
      return Result::kSystemError;
    };
    AsNccl<nccl_abi::NetV12> n(&table);
    return nnd::test::holds_in_child([&] {
      n.init();
      nnd::record::set_nccl_logger(keep_warning);
      nnd::state::Awaited awaited;
      if (waits) awaited.kind = nnd::diagnosis::RootKind::kEnded;
      awaited.who = {.proc = 0xbeef, .rank = 3, .pid = 812, .host = {}};
      awaited.who.host = "node1";
      nnd::state::awaited().set(awaited);
      AsNccl<nccl_abi::NetV12>::Handle handle{};
      void* send = nullptr;
      n.connect(0, handle, &send);
      return warned.starts_with("NET/DIAG RC-2: ") &&
             warned.ends_with(
                 " Before that this process waited in the end for rank 3 of node1 "
                 "(pid 812), which has ended.") == waits;
    });
  };
  CHECK(said(true));
  CHECK(said(false));
}

TEST_CASE("a failure has the catalogue's cause, or only what is known of it") {
  struct Row {
    const char* verb;
    int error;
    const char* cause;
  };
  const auto row =
      GENERATE(Row{"ibv_modify_qp", 22, "QP-22"}, Row{"ibv_modify_qp", 113, "QP-113"},
               Row{"ibv_create_qp", 22, "QP-22"}, Row{"ibv_create_qp", 12, "LIM-MEMLOCK2"},
               Row{"ibv_create_cq", 12, "LIM-MEMLOCK2"}, Row{"ibv_reg_mr", 12, "LIM-MEMLOCK2"},
               Row{"ibv_reg_mr_iova2", 22, "MR-22"}, Row{"ibv_alloc_pd", 12, "VERBS-ERRNO"},
               Row{"ibv_query_gid", 5, "VERBS-ERRNO"}, Row{nullptr, 0, "RC-2"});
  CAPTURE(row.verb, row.error);
  CHECK(the(log_of_failed_connect(row.verb, row.error), "conn.fail").at("cause") == row.cause);
}

TEST_CASE("a connect that fails without a reason, between two link layers") {
  static nccl_abi::NetV12 table;
  table = *fake::transport<nccl_abi::NetV12>();
  table.connect = [](void*, int, void*, void**, nccl_abi::NetDeviceHandle**) {
    return Result::kInternalError;
  };
  static std::uint8_t link_layer;
  const auto cause = [](std::uint8_t there, std::uint8_t here) {
    AsNccl<nccl_abi::NetV12> n(&table);
    nnd::net::dependencies().port = [](const auto&, int) {
      return nnd::net::PortFacts{1, {}, link_layer, 0};
    };
    const auto log = log_of([&] {
      n.init();
      nccl_abi::NetPropertiesV12 properties{};
      n.net.getProperties(0, &properties);
      AsNccl<nccl_abi::NetV12>::Handle handle{};
      void* listener = nullptr;
      link_layer = there;
      n.listen(0, handle, &listener);
      link_layer = here;
      void* send = nullptr;
      n.connect(0, handle, &send);
      n.net.closeListen(listener);
    });
    return the(log, "conn.fail").at("cause").get<std::string>();
  };
  CHECK(cause(1, 2) == "DEV-MIXLL");
  CHECK(cause(2, 1) == "DEV-MIXLL");
  CHECK(cause(2, 2) == "RC-3");
  CHECK(cause(0, 2) == "RC-3");  // a peer that doesn't say
  CHECK(cause(2, 0) == "RC-3");
}

TEST_CASE("a failed test has the status of its own connection's completion as its cause") {
  const auto cause = [](std::uint32_t of_conn) {
    AsNccl<nccl_abi::NetV12> n;
    const auto log = log_of([&] {
      n.init();
      void* recv = n.recv_comm();
      void* request = nullptr;
      n.irecv(recv, 1, &request);
      state().answer["test"] = Result::kRemoteError;
      const auto* own = static_cast<const nnd::state::Connection*>(recv);
      nnd::state::failed_completion() = {of_conn == 0 ? own->about.id : of_conn, 12, {0xfd}};
      int done = 0;
      n.net.test(request, &done, nullptr);
      const bool used_up = nnd::state::failed_completion().conn == 0;
      n.net.closeRecv(recv);
      return used_up;
    });
    CHECK(the(log, "conn.fail").contains("peer") == (of_conn == 0));
    return the(log, "conn.fail").at("cause").get<std::string>();
  };
  CHECK(cause(0) == "WC-12");
  CHECK(cause(0xffff) == "RC-6");
}

TEST_CASE("a failed registration is a warning, once per connection, and hides no later failure") {
  AsNccl<nccl_abi::NetV12> n;
  const auto log = log_of([&] {
    n.init();
    void* recv = n.recv_comm();
    void* mr = nullptr;
    state().answer["regMr"] = Result::kSystemError;
    n.net.regMr(recv, n.buffer, 8, 2, &mr);
    n.net.regMr(recv, n.buffer, 8, 2, &mr);
    state().answer["irecv"] = Result::kRemoteError;
    void* request = nullptr;
    n.irecv(recv, 1, &request);
    n.irecv(recv, 1, &request);
    n.net.closeRecv(recv);
  });
  std::vector<std::string> told;
  for (const Json& line : log)
    if (line.at("ev") == "conn.fail")
      told.push_back(line.at("stage").get<std::string>() + " " + line.at("sev").get<std::string>());
  CHECK(told == std::vector<std::string>{"regMr warn", "irecv error"});
}

TEST_CASE("what NCCL gives up is told once") {
  AsNccl<nccl_abi::NetV12> n;
  const auto log = log_of([&] {
    n.init();
    AsNccl<nccl_abi::NetV12>::Handle handle{};
    void* comm = nullptr;
    void* listener = nullptr;
    n.listen(0, handle, &listener);
    state().polls_until_ready = 1000;
    n.connect(0, handle, &comm);
    n.accept(listener, &comm);
    n.net.closeListen(listener);
    n.net.finalize(n.ctx);
  });
  std::vector<std::string> stages;
  for (const Json& line : log) {
    if (line.at("ev") != "conn.fail") continue;
    CHECK(line.at("abandoned") == true);
    CHECK(line.at("cause") == "HANG-CONNECT");
    stages.push_back(line.at("stage"));
  }
  CHECK(stages == std::vector<std::string>{"accept", "connect"});
}

// Where connections share a comm (PXN, all-to-all), NCCL polls several handles and listeners with
// one place for the comm, until one of them has filled it.
TEST_CASE("an attempt whose place another one has filled is no failure") {
  AsNccl<nccl_abi::NetV12> n;
  const auto log = log_of([&] {
    n.init();
    AsNccl<nccl_abi::NetV12>::Handle handles[2]{};
    void *listeners[2]{}, *send = nullptr, *recv = nullptr;
    state().polls_until_ready = 1000;
    for (int i = 0; i < 2; ++i) {
      n.listen(0, handles[i], &listeners[i]);
      n.connect(0, handles[i], &send);
      n.accept(listeners[i], &recv);
    }
    state().polls_until_ready = 0;
    n.connect(0, handles[1], &send);
    n.accept(listeners[1], &recv);
    for (void* listener : listeners) n.net.closeListen(listener);
    n.net.closeSend(send);
    n.net.closeRecv(recv);
    n.net.finalize(n.ctx);
  });
  std::map<std::string, int> told;
  for (const Json& line : log) {
    ++told[line.at("ev")];
    CHECK(line.at("sev") == "info");
  }
  CHECK(told["conn.ready"] == 2);
  CHECK(told["conn.close"] == 4);
  CHECK(told["conn.fail"] == 0);
}

TEST_CASE("who is polled further has a place of its own, whatever it was called with") {
  AsNccl<nccl_abi::NetV12> n;
  const auto log = log_of([&] {
    n.init();
    AsNccl<nccl_abi::NetV12>::Handle handles[2]{};
    void *listeners[2]{}, *recv = nullptr;
    state().polls_until_ready = 1000;
    for (int i = 0; i < 2; ++i) {
      n.listen(0, handles[i], &listeners[i]);
      n.accept(listeners[i], &recv);
    }
    state().polls_until_ready = 0;
    n.accept(listeners[1], &recv);
    n.net.closeRecv(recv);
    state().polls_until_ready = 1000;
    n.accept(listeners[0], &recv);
    for (void* listener : listeners) n.net.closeListen(listener);
  });
  CHECK(the(log, "conn.fail").at("abandoned") == true);
}

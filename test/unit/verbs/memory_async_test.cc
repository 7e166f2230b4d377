// Memory registrations and asynchronous events.
#include <cerrno>
#include <cstring>

#include "state/current.h"
#include "support/catch.h"
#include "world.h"

namespace state = nnd::state;
using nlohmann::json;

namespace {

json last(const std::string& name) {
  const auto events = take_events(name);
  REQUIRE_FALSE(events.empty());
  return events.back();
}

}  // namespace

TEST_CASE("The kind of a registration is known by function and by what NCCL registers") {
  const Opened device;
  const Verbs& verbs = device.w.verbs;
  char memory[64];
  ibv_mr* mr = verbs.reg_mr(device.pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  json event = last("mr.register");
  CHECK(event["mr"]["kind"] == "host");
  CHECK(event["mr"]["bytes"] == 64);
  CHECK(event["mr"]["lkey"] == 0x11);
  CHECK(event["mr"]["rkey"] == 0x22);
  CHECK(event["dev"]["name"] == "fake_0");
  CHECK(event["dur_us"].is_number());
  CHECK(verbs.dereg_mr(mr) == 0);

  state::Identity conn;
  conn.id = 21;
  {
    const state::Scope scope(state::Call::kRegMr, conn, 2);  // NCCL_PTR_CUDA
    mr = verbs.reg_mr_iova2(device.pd, memory, sizeof memory, 0, 0);
    event = last("mr.register");
    CHECK(event["mr"]["kind"] == "peermem");
    CHECK(event["conn"] == 21);
    CHECK(verbs.dereg_mr(mr) == 0);
    // The first of its way is said.
    event = last("gdr.state");
    CHECK(event["cause"] == "GDR-PEERMEM-VS-DMABUF");
    CHECK(event["way"] == "peermem");
    CHECK(event["why"] == "NCCL registers GPU memory with ibv_reg_mr_iova2");
    CHECK(event["dev"]["name"] == "fake_0");
    mr = verbs.reg_mr_iova2(device.pd, memory, sizeof memory, 0, 0);
    CHECK(take_events("gdr.state").empty());
    CHECK(verbs.dereg_mr(mr) == 0);
    take_events("mr.register");
  }
  mr = verbs.reg_dmabuf_mr(device.pd, 0, 4096, 0, 5, 0);
  CHECK(last("mr.register")["mr"]["kind"] == "dmabuf");
  CHECK(verbs.dereg_mr(mr) == 0);
  CHECK(take_events("mr.register").empty());  // deregistering is not told
  REQUIRE(verbs.mlx5_reg_dmabuf_mr != nullptr);
  mr = verbs.mlx5_reg_dmabuf_mr(device.pd, 0, 8192, 0, 5, 0, 3);
  REQUIRE(mr != nullptr);
  event = last("mr.register");
  CHECK(event["mr"]["kind"] == "dmabuf");
  CHECK(event["mr"]["verb"] == "mlx5dv_reg_dmabuf_mr");
  CHECK(event["mr"]["bytes"] == 8192);
  CHECK(verbs.control->mlx5_access == 3);
  CHECK(verbs.dereg_mr(mr) == 0);
  CHECK(verbs.mlx5_reg_dmabuf_mr(device.pd, 0, 0, 0, -1, 0, 0) == nullptr);  // only a question
  CHECK(errno == EBADF);
  CHECK(take_events("mr.register").empty());
}

TEST_CASE("A failed registration has its cause, and NCCL gets the errno") {
  const Opened device;
  const Verbs& verbs = device.w.verbs;
  char memory[64];
  verbs.control->reg_errno = EFAULT;
  const state::Scope scope(state::Call::kRegMr, {}, 2);
  errno = 0;
  CHECK(verbs.reg_mr(device.pd, memory, sizeof memory, 0) == nullptr);
  CHECK(errno == EFAULT);
  CHECK(state::current().failed_errno == EFAULT);
  const json event = last("mr.register");
  CHECK(event["cause"] == "GDR-REGFAIL");
  CHECK(event["errno"] == EFAULT);
  {
    const state::Scope host(state::Call::kRegMr, {}, 1);
    CHECK(verbs.reg_mr(device.pd, memory, sizeof memory, 0) == nullptr);
    CHECK(last("mr.register")["cause"] == "MR-14");
  }
  verbs.control->reg_errno = 0;
}

TEST_CASE("NCCL's question for DMA-BUF is no failure") {
  const Opened device;
  const state::Scope scope(state::Call::kInit, {});
  take_events("mr.register");
  errno = 0;
  CHECK(device.w.verbs.reg_dmabuf_mr(device.pd, 0, 0, 0, -1, 0) == nullptr);
  CHECK(errno == EBADF);
  CHECK(state::current().failed_verb == nullptr);
  CHECK(take_events("mr.register").empty());
}

TEST_CASE("An asynchronous event names its own port, with a severity by kind") {
  const Opened device;
  const Verbs& verbs = device.w.verbs;
  const auto report = [&](ibv_event_type type, int port) {
    verbs.control->event = {};
    verbs.control->event.event_type = type;
    verbs.control->event.element.port_num = port;
    ibv_async_event got{};
    CHECK(verbs.get_async_event(device.context, &got) == 0);
    CHECK(got.event_type == type);
    return last("port.event");
  };
  json event = report(IBV_EVENT_PORT_ERR, 2);
  CHECK(event["sev"] == "warn");
  CHECK(event["cause"] == "ASYNC-PORT");
  CHECK(event["event"] == "PORT_ERR");
  CHECK(event["event_number"] == 10);
  CHECK(event["dev"]["port"] == 2);
  CHECK(event["msg"].get<std::string>().find("fake_0:2") != std::string::npos);
  CHECK(event["failure"].is_number());
  event = report(IBV_EVENT_PORT_ACTIVE, 1);
  CHECK(event["sev"] == "info");
  CHECK_FALSE(event.contains("cause"));
  event = report(IBV_EVENT_GID_CHANGE, 1);
  CHECK(event["cause"] == "GID-CHANGE");
  CHECK_FALSE(event.contains("failure"));  // no connection is the worse for it
  event = report(IBV_EVENT_DEVICE_FATAL, 0);
  CHECK(event["sev"] == "error");
  CHECK(event["cause"] == "ASYNC-FATAL");
  CHECK_FALSE(event["dev"].contains("port"));
}

TEST_CASE("An asynchronous event of a QP names its connection") {
  const Opened device;
  state::Identity conn;
  conn.id = 22;
  ibv_qp* qp = nullptr;
  {
    const state::Scope scope(state::Call::kConnect, conn);
    qp = device.qp();
  }
  device.w.verbs.control->event = {};
  device.w.verbs.control->event.event_type = IBV_EVENT_QP_FATAL;
  device.w.verbs.control->event.element.qp = qp;
  ibv_async_event got{};
  CHECK(device.w.verbs.get_async_event(device.context, &got) == 0);
  const json event = last("port.event");
  CHECK(event["conn"] == 22);
  CHECK(event["qp"]["num"] == qp->qp_num);
  CHECK(device.w.verbs.destroy_qp(qp) == 0);
}

// post_send, post_recv and poll_cq through the context's ops.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <thread>

#include "context/clock.h"
#include "facts/counters.h"
#include "state/current.h"
#include "state/failure.h"
#include "state/ports.h"
#include "state/qp_table.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "world.h"

namespace state = nnd::state;
using nlohmann::json;

namespace {

thread_local bool g_watched = false;
thread_local int g_allocations = 0;

void* allocate(std::size_t bytes) {
  if (g_watched) ++g_allocations;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

struct Traffic : Opened {
  ibv_cq* cq = w.verbs.create_cq(context, 16, nullptr, nullptr, 0);
  ibv_qp* made = nullptr;

  explicit Traffic(std::uint32_t conn_id) {
    ::state::Identity conn;
    conn.id = conn_id;
    const ::state::Scope scope(::state::Call::kConnect, conn);
    made = qp();
    made->send_cq = cq;
  }
  ~Traffic() {
    if (made != nullptr) CHECK(w.verbs.destroy_qp(made) == 0);
    CHECK(w.verbs.destroy_cq(cq) == 0);
  }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  int poll() const {
    ibv_wc wc[4];
    return context->ops.poll_cq(cq, 4, wc);
  }
  int complete(ibv_wc_status status, unsigned vendor = 0) const {
    FakeControl& control = *w.verbs.control;
    control.completions[0] = {};
    control.completions[0].qp_num = made->qp_num;
    control.completions[0].status = status;
    control.completions[0].vendor_err = vendor;
    control.completions[0].wr_id = 0xbeef;
    control.completion_count = 1;
    return poll();
  }
  json destroyed() {
    take_events("qp.destroy");
    CHECK(w.verbs.destroy_qp(made) == 0);
    made = nullptr;
    return take_events("qp.destroy").at(0);
  }
};

}  // namespace

// The whole family, so that nothing of it comes from elsewhere (a sanitizer's pairs are checked).
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("Work requests and completions are counted per QP") {
  Traffic t(31);
  ibv_send_wr second{};
  ibv_send_wr first{};
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  CHECK(t.context->ops.post_send(t.made, &first, &bad) == 0);
  t.w.verbs.control->post_error = ENOMEM;  // from the second on
  CHECK(t.context->ops.post_send(t.made, &first, &bad) == ENOMEM);
  CHECK(bad == &second);
  t.w.verbs.control->post_error = 0;
  ibv_recv_wr recv{};
  ibv_recv_wr* bad_recv = nullptr;
  CHECK(t.context->ops.post_recv(t.made, &recv, &bad_recv) == 0);
  CHECK(t.poll() == 0);
  CHECK(t.complete(IBV_WC_SUCCESS) == 1);
  CHECK(t.complete(IBV_WC_SUCCESS) == 1);
  const json event = t.destroyed();
  CHECK(event["conn"] == 31);
  CHECK(event["qp"]["sends"] == 3);
  CHECK(event["qp"]["recvs"] == 1);
  CHECK(event["qp"]["completed"] == 2);
  CHECK(event["qp"]["failed"] == 0);
  CHECK(event["qp"]["last_success_age_us"].is_number());
}

TEST_CASE("Of a list that is posted, the sends that complete unseen are counted") {
  Traffic t(38);
  ibv_send_wr last{};
  last.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr middle{};
  middle.next = &last;
  ibv_send_wr first{};
  first.next = &middle;
  ibv_send_wr* bad = nullptr;
  CHECK(t.context->ops.post_send(t.made, &first, &bad) == 0);
  const nnd::state::Qp* const qp = nnd::state::find_qp(t.made, t.made->qp_num);
  REQUIRE(qp != nullptr);
  CHECK(qp->sends == 3);
  CHECK(qp->unsignalled == 2);
  CHECK(t.context->ops.post_send(t.made, &last, &bad) == 0);  // alone
  CHECK(qp->sends == 4);
  CHECK(qp->unsignalled == 2);
}

TEST_CASE("The first failed completion of a QP is told, the rest are counted") {
  Traffic t(32);
  CHECK(t.complete(IBV_WC_RETRY_EXC_ERR, 129) == 1);
  for (int i = 0; i < 3; ++i) CHECK(t.complete(IBV_WC_WR_FLUSH_ERR, 249) == 1);
  const auto events = take_events("wc.error");
  REQUIRE(events.size() == 1);
  const json& event = events[0];
  CHECK(event["sev"] == "error");
  CHECK(event["cause"] == "WC-12");
  CHECK(event["conn"] == 32);
  CHECK(event["qp"]["num"] == t.made->qp_num);
  CHECK(event["wc"]["status"] == 12);
  CHECK(event["wc"]["status_name"] == "RETRY_EXC_ERR");
  CHECK(event["wc"]["vendor_err"] == 129);
  CHECK(event["wc"]["vendor_err_hex"] == "0x81");
  CHECK(event["wc"]["wr_id"] == "0xbeef");
  CHECK(event["wc"]["history"] == "never worked");
  CHECK(event["msg"].get<std::string>().find("129 (0x81)") != std::string::npos);
  CHECK(t.destroyed()["qp"]["failed"] == 4);
}

TEST_CASE("A failed completion tells what its port had counted, and asks for what it counts now") {
  const nnd::test::TempDir sysfs;
  const Traffic t(37);
  const std::string device = t.context->device->name;
  const std::string hw = sysfs / ("class/infiniband/" + device + "/ports/1/hw_counters");
  std::filesystem::create_directories(hw);
  std::ofstream(hw + "/local_ack_timeout_err") << "3\n";
  std::ofstream(hw + "/sent_pkts") << "5\n";
  nnd::facts::watch_counters(sysfs.path());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  CHECK(t.w.verbs.modify_qp(t.made, &attr, IBV_QP_STATE | IBV_QP_PORT) == 0);
  nnd::facts::sample_counters();
  std::ofstream(hw + "/local_ack_timeout_err") << "10\n";
  nnd::facts::sample_counters();
  std::ofstream(hw + "/local_ack_timeout_err") << "11\n";  // NCCL's thread does not read it
  CHECK(nnd::facts::take_needs().empty());
  CHECK(t.complete(IBV_WC_RETRY_EXC_ERR, 129) == 1);
  nnd::facts::watch_counters("");
  const auto events = take_events("wc.error");
  REQUIRE(events.size() == 1);
  const json grown = {{"local_ack_timeout_err", 7}};
  CHECK(events[0]["counters"] == json{{{"name", device}, {"port", 1}, {"grown", grown}}});
  const auto needs = nnd::facts::take_needs();
  REQUIRE(needs.size() == 1);
  CHECK(needs[0].device == device);
  CHECK(needs[0].conn == 37);
  CHECK(needs[0].failure == events[0]["failure"]);
}

TEST_CASE("A QP that worked before it failed says so") {
  Traffic t(33);
  CHECK(t.complete(IBV_WC_SUCCESS) == 1);
  CHECK(t.complete(IBV_WC_RETRY_EXC_ERR, 129) == 1);
  const auto events = take_events("wc.error");
  REQUIRE(events.size() == 1);
  CHECK(events[0]["wc"]["history"] == "worked, then died");
  CHECK(events[0]["wc"]["completed"] == 1);
  CHECK(events[0]["wc"]["last_success_age_us"].is_number());
}

TEST_CASE("A flush is told where nothing else explains it") {
  {
    const Traffic t(34);
    CHECK(t.complete(IBV_WC_WR_FLUSH_ERR) == 1);
    CHECK(t.complete(IBV_WC_LOC_PROT_ERR, 81) == 1);  // the reason comes late
    const auto events = take_events("wc.error");
    REQUIRE(events.size() == 2);
    CHECK(events[0]["cause"] == "WC-5");
    CHECK(events[1]["cause"] == "WC-4");
  }
  {
    const Traffic t(35);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;  // NCCL's own wish
    CHECK(t.w.verbs.modify_qp(t.made, &attr, IBV_QP_STATE) == 0);
    CHECK(t.complete(IBV_WC_WR_FLUSH_ERR) == 1);
    CHECK(take_events("wc.error").empty());
  }
}

TEST_CASE("A request on a port that goes down is the port's failure, whichever is told first") {
  const auto on_port = [](const Traffic& t) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    CHECK(t.w.verbs.modify_qp(t.made, &attr, IBV_QP_STATE | IBV_QP_PORT) == 0);
  };
  const auto port = [](const Traffic& t, ibv_event_type type) {
    t.w.verbs.control->event = {};
    t.w.verbs.control->event.event_type = type;
    t.w.verbs.control->event.element.port_num = 1;
    ibv_async_event got{};
    CHECK(t.w.verbs.get_async_event(t.context, &got) == 0);
    return take_events("port.event").back();
  };
  take_events("port.event");
  take_events("wc.error");
  {
    const Traffic t(38);
    on_port(t);
    const json down = port(t, IBV_EVENT_PORT_ERR);
    CHECK(t.complete(IBV_WC_LOC_QP_OP_ERR) == 1);
    const json failed = take_events("wc.error").at(0);
    CHECK(failed["cause"] == "ASYNC-PORT");
    CHECK(failed["failure"] == down["failure"]);
    CHECK(failed["msg"].get<std::string>().find("the port is down, since") != std::string::npos);
    port(t, IBV_EVENT_PORT_ACTIVE);
  }
  ::state::forget_port_histories();
  {
    const Traffic t(39);
    on_port(t);
    CHECK(t.complete(IBV_WC_LOC_QP_OP_ERR) == 1);
    CHECK(take_events("wc.error").at(0)["cause"] == "WC-2");
    const json down = port(t, IBV_EVENT_PORT_ERR);
    const auto now = ::state::failure_of(39);
    REQUIRE(now);
    CHECK(now->number == down["failure"]);
    CHECK(now->diagnosis.cause == nnd::diagnosis::Cause::kAsyncPort);
  }
  ::state::forget_port_histories();
}

TEST_CASE("A hundred thousand failed completions are a bounded log with exact counts") {
  constexpr int kQps = 100, kEach = 1000;
  take_events("wc.error");
  std::vector<std::unique_ptr<Traffic>> all;
  for (std::uint32_t i = 0; i < kQps; ++i) all.push_back(std::make_unique<Traffic>(4000 + i));
  const std::uint64_t began_ns = nnd::context::mono_ns();
  for (int i = 0; i < kEach; ++i)
    for (const auto& one : all)
      REQUIRE(one->complete(i == 0 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_WR_FLUSH_ERR, 129) == 1);
  const auto events = take_events("wc.error");
  REQUIRE(events.size() == kQps);  // the first of each QP
  CHECK(events[0]["cause"] == "WC-12");
  const auto ns = [&](std::size_t i) { return events[i]["mono_ns"].get<std::uint64_t>(); };
  CHECK(ns(0) - began_ns < 1'000'000'000);
  CHECK(ns(0) <= ns(kQps - 1));  // each told when it was met, not at the end
  for (const auto& one : all) CHECK(one->destroyed()["qp"]["failed"] == kEach);
}

TEST_CASE("The data path allocates nothing") {
  const Traffic t(36);
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  ibv_recv_wr recv{};
  ibv_recv_wr* bad_recv = nullptr;
  g_allocations = 0;
  g_watched = true;
  const int sent = t.context->ops.post_send(t.made, &wr, &bad);
  const int received = t.context->ops.post_recv(t.made, &recv, &bad_recv);
  const int empty = t.poll();
  const int one = t.complete(IBV_WC_SUCCESS);
  g_watched = false;
  CHECK(sent + received + empty == 0);
  CHECK(one == 1);
  CHECK(g_allocations == 0);
}

TEST_CASE("A context that was not opened by NCCL keeps its own functions") {
  const Opened device;
  const auto open = reinterpret_cast<ibv_context* (*)(ibv_device*)>(
      ::dlvsym(device.w.library, "ibv_open_device", "IBVERBS_1.1"));
  const auto close = reinterpret_cast<int (*)(ibv_context*)>(
      ::dlvsym(device.w.library, "ibv_close_device", "IBVERBS_1.1"));
  ibv_context* foreign = open(device.context->device);
  CHECK(foreign->ops.poll_cq != device.context->ops.poll_cq);
  CHECK(foreign->ops.post_send != device.context->ops.post_send);
  CHECK(close(foreign) == 0);
}

TEST_CASE("The table finds thousands of QPs while they come and go") {
  namespace state = nnd::state;
  static auto& chains = *new state::QpChains{};
  static auto& table = *new state::QpTable(chains);  // fork() visits its lock
  constexpr std::uint32_t kCount = 5000;
  // Numbers of the same low bits are in the same chain.
  const auto number_at = [](std::uint32_t i) { return i % 2 == 0 ? i : i * state::kQpChains; };
  const auto qp_at = [](std::uintptr_t i) { return reinterpret_cast<const ibv_qp*>(i * 64 + 64); };
  const auto* context = reinterpret_cast<const ibv_context*>(std::uintptr_t{0x1000});
  const auto* other = reinterpret_cast<const ibv_context*>(std::uintptr_t{0x2000});
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> wrong{0};
  const state::Qp* const fixed = table.add(qp_at(1'000'000), context, 0, {});
  std::thread reader([&] {
    while (!done.load()) {
      if (state::find_qp(chains, qp_at(1'000'000), 0) != fixed) ++wrong;
      if (state::find_qp(chains, context, 0) != fixed) ++wrong;
      if (state::find_qp(chains, other, 0) != nullptr) ++wrong;
      if (state::find_qp(chains, qp_at(2'000'000), 0) != nullptr) ++wrong;
    }
  });
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 1; i < kCount; ++i) table.add(qp_at(i), context, number_at(i), {});
    for (std::uint32_t i = 1; i < kCount; ++i) {
      const state::Qp* const found = state::find_qp(chains, qp_at(i), number_at(i));
      if (found == nullptr || found != state::find_qp(chains, context, number_at(i))) ++wrong;
    }
    for (std::uint32_t i = 1; i < kCount; ++i) {
      state::Qp* const found = state::find_qp(chains, qp_at(i), number_at(i));
      if (found == nullptr) continue;
      table.unlist(*found);
      table.release(*found);
      if (state::find_qp(chains, qp_at(i), number_at(i)) != nullptr) ++wrong;
    }
  }
  done = true;
  reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("A QP whose number comes again takes the place of the one whose end wasn't seen") {
  namespace state = nnd::state;
  static auto& chains = *new state::QpChains{};
  static auto& table = *new state::QpTable(chains);
  const auto* context = reinterpret_cast<const ibv_context*>(std::uintptr_t{0x1000});
  const auto* first = reinterpret_cast<const ibv_qp*>(std::uintptr_t{0x40});
  const auto* second = reinterpret_cast<const ibv_qp*>(std::uintptr_t{0x80});
  table.add(first, context, 7, {});
  state::Qp* const now = table.add(second, context, 7, {});
  CHECK(state::find_qp(chains, context, 7) == now);
  CHECK(state::find_qp(chains, first, 7) == nullptr);
  table.forget(context);
  CHECK(state::find_qp(chains, context, 7) == nullptr);
}

TEST_CASE("A failure that the QP got over explains no later one") {
  const Traffic t(38);
  const auto& failed = nnd::state::failed_completion();
  CHECK(t.complete(IBV_WC_RETRY_EXC_ERR) == 1);
  CHECK(failed.conn == 38);
  CHECK(failed.holds());
  CHECK(t.complete(IBV_WC_LOC_PROT_ERR) == 1);
  CHECK(failed.status == IBV_WC_RETRY_EXC_ERR);  // the first is the cause
  CHECK(t.complete(IBV_WC_SUCCESS) == 1);
  CHECK_FALSE(failed.holds());
  CHECK(t.complete(IBV_WC_LOC_PROT_ERR) == 1);
  CHECK(failed.status == IBV_WC_LOC_PROT_ERR);
  CHECK(failed.holds());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;  // as NCCL's port recovery does
  CHECK(t.w.verbs.modify_qp(t.made, &attr, IBV_QP_STATE) == 0);
  CHECK_FALSE(failed.holds());
}

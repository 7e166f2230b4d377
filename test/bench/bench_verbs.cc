// What the verbs layer adds to the data path, through a context's ops, and to the life of one QP on
// the control path. Same verbs below with and without it, in one run.
//   bench_verbs                     nanoseconds, by google-benchmark
//   bench_verbs --loop NAME SHIM N  N times one call, for callgrind to count (SHIM 0 or 1)
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "record/recorder.h"
#include "state/failure.h"
#include "state/qp_table.h"
#include "verbs/handlers.h"
#include "verbs/ops.h"

namespace {

namespace handlers = nnd::verbs::handlers;

constexpr std::uint32_t kQps = 256;  // of one context, as in a job with many channels

int g_ready = 0;                          // completions that the next polls find
ibv_wc_status g_status = IBV_WC_SUCCESS;  // of these
ibv_qp g_fresh;                           // what the next ibv_create_qp returns

// The verbs below: they do as little as a real one could.
int post_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; }
int post_recv(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return 0; }
int poll_cq(ibv_cq* /*cq*/, int /*entries*/, ibv_wc* wc) {
  for (int i = 0; i < g_ready; ++i) {
    wc[i].status = g_status;
    wc[i].qp_num = 7U + static_cast<unsigned>(i);
  }
  return g_ready;
}
ibv_qp* create_qp(ibv_pd*, ibv_qp_init_attr*) { return &g_fresh; }
int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int) {
  qp->state = attr->qp_state;
  return 0;
}
int destroy_qp(ibv_qp*) { return 0; }
int query_qp(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*) { return 0; }
int query_gid(ibv_context*, std::uint8_t, int, ibv_gid* gid) {
  gid->raw[10] = gid->raw[11] = 0xff;
  gid->raw[12] = 10;
  return 0;
}

struct Side {
  ibv_device device{};
  ibv_context context{};
  ibv_pd pd{};
  ibv_cq cq{};
  ibv_qp qps[kQps]{};
  nnd::verbs::Library library;
  bool shim;

  explicit Side(bool with) : shim(with) {
    std::strcpy(device.name, "mlx5_0");
    context.device = &device;
    context.ops.post_send = post_send;
    context.ops.post_recv = post_recv;
    context.ops.poll_cq = poll_cq;
    pd.context = cq.context = &context;
    library.real.create_qp = create_qp;
    library.real.modify_qp = modify_qp;
    library.real.destroy_qp = destroy_qp;
    library.real.query_qp = query_qp;
    library.real.query_gid = query_gid;
    for (std::uint32_t i = 0; i < kQps; ++i) {
      qps[i].context = &context;
      qps[i].qp_num = i;
      if (shim) nnd::state::qp_table().add(&qps[i], &context, i, {});
    }
    if (shim) nnd::verbs::patch_ops(context);
  }
};

void poll(Side& s) {
  ibv_wc wc[4];
  benchmark::DoNotOptimize(s.context.ops.poll_cq(&s.cq, 4, wc));
}

// The first failed completion of a QP whose connection moves data: diagnosed, and told.
void fail(Side& s) {
  g_status = IBV_WC_RETRY_EXC_ERR;
  if (s.shim) {
    nnd::state::Qp* const qp = nnd::state::find_qp(&s.qps[7], 7);
    qp->told = 0;
    nnd::state::forget_failures();
  }
  poll(s);
  g_status = IBV_WC_SUCCESS;
}

void send(Side& s) {
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  benchmark::DoNotOptimize(s.context.ops.post_send(&s.qps[7], &wr, &bad));
}

void recv(Side& s) {
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  benchmark::DoNotOptimize(s.context.ops.post_recv(&s.qps[7], &wr, &bad));
}

int move_to(const Side& s, ibv_qp_attr& attr, ibv_qp_state state, int mask) {
  attr.qp_state = state;
  return s.shim ? handlers::modify_qp(s.library, &g_fresh, &attr, mask | IBV_QP_STATE)
                : modify_qp(&g_fresh, &attr, mask | IBV_QP_STATE);
}

// From ibv_create_qp by INIT, RTR and RTS to ibv_destroy_qp: five events.
void qp_life(Side& s) {
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  g_fresh = {};
  g_fresh.context = &s.context;
  g_fresh.qp_num = 0x1000;
  ibv_qp* qp = s.shim ? handlers::create_qp(s.library, &s.pd, &init) : create_qp(&s.pd, &init);
  ibv_qp_attr attr{};
  attr.port_num = attr.ah_attr.port_num = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid.raw[0] = 0xfe;
  int rc = move_to(s, attr, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX);
  rc += move_to(s, attr, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN);
  rc += move_to(s, attr, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT);
  rc += s.shim ? handlers::destroy_qp(s.library, qp) : destroy_qp(qp);
  benchmark::DoNotOptimize(rc);
}

struct Operation {
  void (*run)(Side&);
  int ready;
};
const std::map<std::string, Operation> kOperations = {
    {"poll_cq_empty", {poll, 0}}, {"poll_cq_1", {poll, 1}}, {"poll_cq_4", {poll, 4}},
    {"wc_error", {fail, 1}},      {"post_send", {send, 0}}, {"post_recv", {recv, 0}},
    {"qp_life", {qp_life, 0}}};

Side& side(bool shim) {
  static Side plain(false);
  static Side with(true);
  return shim ? with : plain;
}

void measure(benchmark::State& state, const Operation& operation, bool shim) {
  Side& s = side(shim);
  g_ready = operation.ready;
  for (auto _ : state) operation.run(s);
}

int count(const char* name, bool shim, long n) {
  const auto found = kOperations.find(name);
  if (found == kOperations.end()) return 2;
  Side& s = side(shim);
  g_ready = found->second.ready;
  for (long i = 0; i < n; ++i) found->second.run(s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  nnd::config::Settings settings;
  settings.file = "off";  // the drain's own cost is not this layer's
  nnd::record::start(settings);
  if (argc == 5 && !std::strcmp(argv[1], "--loop"))
    return count(argv[2], std::atoi(argv[3]) != 0, std::atol(argv[4]));
  for (const auto& [name, operation] : kOperations)
    for (bool shim : {false, true})
      benchmark::RegisterBenchmark((name + (shim ? "/shim" : "/plain")).c_str(), measure, operation,
                                   shim);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

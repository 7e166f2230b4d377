// The cheapest net plugin that can be wrapped: what is measured on top of it is the shim alone. One
// send and one receive connection, requests that are done at once or never, as g_done says
// (exported for the benchmark).
#include <array>
#include <cstdint>

#include "nccl_abi/net_v11.h"

namespace {

using nccl_abi::Result;

int comm_object;
std::array<int, 4096> requests;
std::uint32_t next_request;

Result give_request(void** request) {
  *request = &requests[next_request++ % requests.size()];
  return Result::kSuccess;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int bench_inner_done = 1;
__attribute__((visibility("default"))) int bench_inner_takes = 1;  // isend gives a request

Result bench_init(void** ctx, std::uint64_t, nccl_abi::NetCommConfig*, nccl_abi::DebugLogger,
                  nccl_abi::ProfilerCallback) {
  *ctx = &comm_object;
  return Result::kSuccess;
}
Result bench_devices(int* n) {
  *n = 1;
  return Result::kSuccess;
}
Result bench_properties(int, nccl_abi::NetPropertiesV11* p) {
  static char name[] = "bench0";
  *p = {};
  p->name = name;
  p->ptrSupport = nccl_abi::kPtrHost;
  p->speed = 1000;
  p->port = 1;
  p->maxComms = 64;
  p->maxRecvs = 8;
  return Result::kSuccess;
}
Result bench_listen(void*, int, void*, void** comm) {
  *comm = &comm_object;
  return Result::kSuccess;
}
Result bench_connect(void*, int, void*, void** comm, nccl_abi::NetDeviceHandle**) {
  *comm = &comm_object;
  return Result::kSuccess;
}
Result bench_accept(void*, void** comm, nccl_abi::NetDeviceHandle**) {
  *comm = &comm_object;
  return Result::kSuccess;
}
Result bench_reg(void*, void*, std::size_t, int, void** mhandle) {
  *mhandle = &comm_object;
  return Result::kSuccess;
}
Result bench_reg_dmabuf(void*, void*, std::size_t, int, std::uint64_t, int, void** mhandle) {
  *mhandle = &comm_object;
  return Result::kSuccess;
}
Result bench_dereg(void*, void*) { return Result::kSuccess; }
Result bench_isend(void*, void*, std::size_t, int, void*, void*, void** request) {
  if (bench_inner_takes != 0) return give_request(request);
  *request = nullptr;
  return Result::kSuccess;
}
Result bench_irecv(void*, int, void**, std::size_t*, int*, void**, void**, void** request) {
  return give_request(request);
}
Result bench_iflush(void*, int, void**, int*, void**, void** request) {
  return give_request(request);
}
Result bench_test(void*, int* done, int* size) {
  *done = bench_inner_done;
  if (bench_inner_done && size) *size = 8;
  return Result::kSuccess;
}
Result bench_close(void*) { return Result::kSuccess; }
Result bench_finalize(void*) { return Result::kSuccess; }

__attribute__((visibility("default"))) nccl_abi::NetV11 ncclNetPlugin_v11 = {
    "Bench",      bench_init, bench_devices,    bench_properties, bench_listen, bench_connect,
    bench_accept, bench_reg,  bench_reg_dmabuf, bench_dereg,      bench_isend,  bench_irecv,
    bench_iflush, bench_test, bench_close,      bench_close,      bench_close,  nullptr,
    nullptr,      nullptr,    bench_finalize,   nullptr};
}

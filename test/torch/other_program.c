// A program that is no framework: each rank adds its number to the others' by NCCL and looks at the
// sum. NCCL_COMM_ID says where they meet.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT (1 << 20)

static void expect(int right, const char* what, const char* why) {
  if (right) return;
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void cuda(cudaError_t error, const char* what) {
  expect(error == cudaSuccess, what, cudaGetErrorString(error));
}

static void nccl(ncclResult_t result, const char* what) {
  expect(result == ncclSuccess, what, ncclGetLastError(NULL));
}

static int number(const char* name) { return atoi(getenv(name)); }

int main(void) {
  static float host[COUNT];
  const int rank = number("RANK"), ranks = number("WORLD_SIZE");
  ncclUniqueId id;
  ncclComm_t comm;
  cudaStream_t stream;
  float* gpu;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  config.commName = "sum of ranks";
#endif
  for (int i = 0; i < COUNT; ++i) host[i] = (float)(rank + 1);
  cuda(cudaSetDevice(number("LOCAL_RANK")), "cudaSetDevice");
  cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
  cuda(cudaMalloc((void**)&gpu, sizeof host), "cudaMalloc");
  cuda(cudaMemcpyAsync(gpu, host, sizeof host, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  nccl(ncclCommInitRankConfig(&comm, ranks, id, rank, &config), "ncclCommInitRankConfig");
  nccl(ncclAllReduce(gpu, gpu, COUNT, ncclFloat, ncclSum, comm, stream), "ncclAllReduce");
  cuda(cudaMemcpyAsync(host, gpu, sizeof host, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (int i = 0; i < COUNT; ++i)
    if (host[i] != (float)(ranks * (ranks + 1) / 2)) {
      fprintf(stderr, "rank %d: element %d is %g\n", rank, i, (double)host[i]);
      return 1;
    }
  nccl(ncclCommDestroy(comm), "ncclCommDestroy");
  printf("rank %d: all data right\n", rank);
  return 0;
}

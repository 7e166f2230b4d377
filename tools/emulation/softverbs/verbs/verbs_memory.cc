// Protection domains and memory regions.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "softverbs/verbs/exports.h"

using namespace softverbs;

namespace {

const Hca& hca_of(const ibv_pd* pd) { return *context_of(pd->context)->device->hca; }

// A real driver pins the pages, which fails where nothing is mapped.
bool mapped(const void* address, std::size_t length) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address) & ~(page - 1);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(address) + length;
  constexpr std::size_t kPagesAtOnce = 4096;
  std::vector<unsigned char> residency(kPagesAtOnce);
  while (at < end) {
    const std::size_t bytes = std::min<std::size_t>(end - at, kPagesAtOnce * page);
    if (::mincore(reinterpret_cast<void*>(at), bytes, residency.data()) != 0) return false;
    at += bytes;
  }
  return true;
}

ibv_mr* add_region(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, int access) {
  constexpr int kRemoteChange = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if ((access & kRemoteChange) && !(access & IBV_ACCESS_LOCAL_WRITE)) return fail_with(EINVAL);
  auto* mr = new Mr();
  mr->mr.context = pd->context;
  mr->mr.pd = pd;
  mr->mr.addr = address;
  mr->mr.length = length;
  mr->pd = pd_of(pd);
  mr->base = static_cast<char*>(address);
  mr->iova = iova;
  mr->access = access;
  Engine& engine = Engine::get();
  const Engine::Hold hold(engine);
  ++mr->pd->users;
  engine.add_mr(*mr);
  return &mr->mr;
}

ibv_mr* register_memory(const char* verb, ibv_pd* pd, void* address, std::size_t length,
                        std::uint64_t iova, int access) {
  if (const int error = injected(verb, hca_of(pd))) return fail_with(error);
  if (length == 0) return fail_with(EINVAL);
  if (!mapped(address, length)) return fail_with(EFAULT);
  return add_region(pd, address, length, iova, access);
}

}  // namespace

namespace softverbs {

// The fabric's stand-in for device memory is host memory at the virtual address itself.
ibv_mr* register_dmabuf(ibv_pd* pd, std::size_t length, std::uint64_t iova, int fd, int access) {
  const Hca& hca = hca_of(pd);
  if (const int error = injected("ibv_reg_dmabuf_mr", hca)) return fail_with(error);
  if (hca.dmabuf_errno != EBADF || fd < 0) return fail_with(hca.dmabuf_errno);
  return add_region(pd, reinterpret_cast<void*>(iova), length, iova, access);
}

}  // namespace softverbs

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (const int error = injected("ibv_alloc_pd", *context_of(context)->device->hca))
    return fail_with(error);
  auto* pd = new Pd();
  pd->pd.context = context;
  return &pd->pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
  if (const int error = injected("ibv_dealloc_pd", hca_of(pd))) return error;
  {
    const Engine::Hold hold(Engine::get());
    if (pd_of(pd)->users > 0) return EBUSY;
  }
  delete pd_of(pd);
  return 0;
}

#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return register_memory("ibv_reg_mr", pd, address, length,
                         reinterpret_cast<std::uint64_t>(address), access);
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  return register_memory("ibv_reg_mr_iova2", pd, address, length, iova, static_cast<int>(access));
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t, std::size_t length, std::uint64_t iova, int fd,
                          int access) {
  return register_dmabuf(pd, length, iova, fd, access);
}

int ibv_dereg_mr(ibv_mr* handle) {
  Mr* mr = mr_of(handle);
  if (const int error = injected("ibv_dereg_mr", hca_of(handle->pd))) return error;
  {
    Engine& engine = Engine::get();
    const Engine::Hold hold(engine);
    engine.remove_mr(*mr);
    --mr->pd->users;
  }
  delete mr;
  return 0;
}

}  // extern "C"

// Memory registrations: the event mr.register, and of the first GPU memory that an HCA is given
// gdr.state.
#include "diagnosis/memory.h"

#include <cerrno>
#include <string>

#include "context/errno_text.h"
#include "context/quiet.h"
#include "facts/node.h"
#include "state/connection.h"
#include "state/failure.h"
#include "state/gpu_memory.h"
#include "verbs/clock.h"
#include "verbs/fields.h"
#include "verbs/handlers.h"
#include "verbs/listed.h"

namespace nnd::verbs::handlers {
namespace {

using record::Event;
using record::EventId;
using record::Severity;
using record::Weight;

constexpr int kNcclPtrCuda = 2;  // NCCL_PTR_CUDA, net API v6 to v12

using Kind = diagnosis::MemoryKind;

struct Registration {
  const char* verb;
  Kind kind;
  const ibv_pd* pd;
  const void* address;
  std::size_t length;
  int access;
};

Kind kind_of_plain() noexcept {
  const state::CallContext& now = state::current();
  return now.call == state::Call::kRegMr && now.ptr_type == kNcclPtrCuda ? Kind::kPeermem
                                                                         : Kind::kHost;
}

// NCCL gives a DMA-BUF the address at which the GPU's memory is mapped.
const void* at(std::uint64_t iova) noexcept {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(iova));
}

// Who fails may take the time to ask.
diagnosis::FailedRegistration::Driver driver_says(const void* address) {
  using Driver = diagnosis::FailedRegistration::Driver;
  const facts::GpuMemory memory = facts::ask_gpu_memory(facts::loaded_cuda_driver(), address);
  if (!memory.known) return Driver::kSilent;
  if (memory.managed) return Driver::kManaged;
  if (!memory.device) return Driver::kHost;
  return memory.capable.value_or(true) ? Driver::kGpu : Driver::kIncapable;
}

void tell(const Registration& asked, const ibv_mr* mr, int error, std::int64_t dur_us) {
  const state::Identity& conn = state::current().conn;
  if (mr == nullptr)
    note_failure(asked.verb, error);
  else if (conn.entry != nullptr)
    conn.entry->mrs[static_cast<std::size_t>(asked.kind)].fetch_add(1, std::memory_order_relaxed);
  Event event(EventId::kMrRegister, mr == nullptr ? Severity::kWarn : Severity::kInfo,
              mr != nullptr && conn.id != 0 ? Weight::kStep : Weight::kNews);
  if (!event.enabled()) return;
  const std::string device = device_name(asked.pd->context);
  add_connection(event, conn, {});
  add_device(event, {.name = device});
  event.object("mr")
      .add("kind", memory_kind_text(asked.kind))
      .add("verb", asked.verb)
      .add("bytes", asked.length)
      .add("access", asked.access);
  if (mr != nullptr) event.add("lkey", mr->lkey).add("rkey", mr->rkey);
  event.end().add("dur_us", dur_us);
  if (mr == nullptr) {
    add_errno(event, error);
    const state::Failure failure = state::begin_failure(
        {conn.id, device, {}}, diagnose(diagnosis::FailedRegistration{
                                   device, asked.verb, asked.kind, asked.length, error,
                                   facts::locked_memory(), driver_says(asked.address)}));
    event.diagnose(failure.diagnosis, failure.number);
  }
  event.emit();
}

// NCCL does not say which way it takes.
void tell_first_gpu_memory(const Registration& asked) {
  const std::string device = device_name(asked.pd->context);
  if (!state::first_gpu_memory(device, asked.kind == Kind::kDmabuf)) return;
  Event event(EventId::kGdrState);
  add_device(event, {.name = device});
  event.add("way", memory_kind_text(asked.kind))
      .add("why", std::string("NCCL registers GPU memory with ") + asked.verb)
      .diagnose(diagnose(diagnosis::GpuMemoryWay{device, asked.kind}))
      .emit();
}

template <class Verb>
ibv_mr* registered(const Registration& asked, Verb&& verb) {
  const std::int64_t start = now_ns();
  ibv_mr* mr = verb();
  context::quietly([&, error = errno] {
    tell(asked, mr, error, (now_ns() - start) / 1000);
    if (mr != nullptr && asked.kind != Kind::kHost) tell_first_gpu_memory(asked);
  });
  return mr;
}

}  // namespace

ibv_mr* reg_mr(const Library& lib, ibv_pd* pd, void* address, std::size_t length, int access) {
  return registered({"ibv_reg_mr", kind_of_plain(), pd, address, length, access},
                    [&] { return lib.real.reg_mr(pd, address, length, access); });
}

ibv_mr* reg_mr_iova2(const Library& lib, ibv_pd* pd, void* address, std::size_t length,
                     std::uint64_t iova, unsigned access) {
  return registered(
      {"ibv_reg_mr_iova2", kind_of_plain(), pd, address, length, static_cast<int>(access)},
      [&] { return lib.real.reg_mr_iova2(pd, address, length, iova, access); });
}

ibv_mr* reg_dmabuf_mr(const Library& lib, ibv_pd* pd, std::uint64_t offset, std::size_t length,
                      std::uint64_t iova, int fd, int access) {
  const auto verb = [&] { return lib.real.reg_dmabuf_mr(pd, offset, length, iova, fd, access); };
  // NCCL's question whether the HCA knows DMA-BUF: fd -1, and the errno is the answer.
  if (fd == -1) {
    ibv_mr* mr = verb();
    context::quietly([&, error = mr == nullptr ? errno : 0] { heard_dmabuf(pd->context, error); });
    return mr;
  }
  return registered({"ibv_reg_dmabuf_mr", Kind::kDmabuf, pd, at(iova), length, access}, verb);
}

ibv_mr* mlx5_reg_dmabuf_mr(const Library& lib, ibv_pd* pd, std::uint64_t offset, std::size_t length,
                           std::uint64_t iova, int fd, int access, int mlx5_access) {
  const auto verb = [&] {
    return lib.real.mlx5_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mlx5_access);
  };
  if (fd == -1) return verb();
  return registered({"mlx5dv_reg_dmabuf_mr", Kind::kDmabuf, pd, at(iova), length, access}, verb);
}

int dereg_mr(const Library& lib, ibv_mr* mr) {
  const int rc = lib.real.dereg_mr(mr);
  if (rc != 0) note_failure("ibv_dereg_mr", rc == -1 ? errno : rc);
  return rc;
}

}  // namespace nnd::verbs::handlers

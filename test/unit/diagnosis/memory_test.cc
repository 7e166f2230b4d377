// Verbs that find no memory: one rule, whichever verb it is.
#include "diagnosis/memory.h"

#include <cerrno>

#include "diagnosis/connection.h"
#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

constexpr LockedMemory kLittle{true, 65536, false};
constexpr LockedMemory kUnlimited{true, LockedMemory::kUnlimited, false};
constexpr LockedMemory kPrivileged{true, 65536, true};
constexpr LockedMemory kNotKnown{};

FailedCall call(const char* verb, const LockedMemory& locked) {
  FailedCall seen;
  seen.stage = "connect";
  seen.rc = 2;
  seen.verb = verb;
  seen.verb_errno = ENOMEM;
  seen.locked = locked;
  return seen;
}

}  // namespace

TEST_CASE("out of memory: the limit where it binds, and the same for every verb") {
  struct Row {
    LockedMemory locked;
    Cause cause;
  };
  const auto row =
      GENERATE(Row{kLittle, Cause::kLimMemlock}, Row{kUnlimited, Cause::kLimMemlock2},
               Row{kPrivileged, Cause::kLimMemlock2}, Row{kNotKnown, Cause::kLimMemlock2});
  CAPTURE(row.locked.limit, row.locked.known);
  CHECK(diagnose(FailedCreation{"mlx5_0", ENOMEM, row.locked}).cause == row.cause);
  CHECK(diagnose(
            FailedRegistration{"mlx5_0", "ibv_reg_mr", MemoryKind::kHost, 4096, ENOMEM, row.locked})
            .cause == row.cause);
  for (const char* verb : {"ibv_create_qp", "ibv_create_cq", "ibv_reg_mr", "ibv_reg_mr_iova2"})
    CHECK(diagnose(call(verb, row.locked)).cause == row.cause);
}

TEST_CASE("the limit is named where it is the cause") {
  const Diagnosis out = diagnose(
      FailedRegistration{"mlx5_0", "ibv_reg_mr", MemoryKind::kHost, 4096, ENOMEM, kLittle});
  CHECK(out.sentence ==
        "mlx5_0: registering 4096 bytes of host memory failed in ibv_reg_mr: errno 12 (Cannot "
        "allocate memory); the locked memory limit is 65536 bytes and the process has no "
        "CAP_IPC_LOCK.");
  CHECK(diagnose(FailedCreation{"mlx5_0", ENOMEM, kUnlimited}).sentence ==
        "mlx5_0: a QP could not be created: errno 12 (Cannot allocate memory).");
}

TEST_CASE("a registration by its memory and its errno") {
  struct Row {
    MemoryKind kind;
    int error;
    Cause cause;
  };
  const auto row = GENERATE(Row{MemoryKind::kHost, EFAULT, Cause::kMr14},
                            Row{MemoryKind::kHost, EINVAL, Cause::kMr22},
                            Row{MemoryKind::kHost, EIO, Cause::kMrErrno},
                            Row{MemoryKind::kPeermem, EFAULT, Cause::kGdrRegFail},
                            Row{MemoryKind::kPeermem, ENOMEM, Cause::kGdrRegFail},
                            Row{MemoryKind::kDmabuf, EOPNOTSUPP, Cause::kGdrRegFail});
  CAPTURE(row.error);
  CHECK(diagnose(
            FailedRegistration{"mlx5_0", "ibv_reg_mr_iova2", row.kind, 4096, row.error, kUnlimited})
            .cause == row.cause);
}

TEST_CASE("GPU memory: the remedy is that of the way it took") {
  const auto remedy = [](MemoryKind kind) {
    return diagnose(FailedRegistration{"mlx5_0", "v", kind, 1, EFAULT, kUnlimited}).remedy;
  };
  CHECK(remedy(MemoryKind::kPeermem).find("Reload that module") != std::string::npos);
  CHECK(remedy(MemoryKind::kDmabuf).find("NCCL_DMABUF_ENABLE=0") != std::string::npos);
}

TEST_CASE("what the GPU's driver says of the memory is told, and what follows from it") {
  using Driver = FailedRegistration::Driver;
  const auto told = [](MemoryKind kind, Driver driver) {
    return diagnose(
        FailedRegistration{"mlx5_0", "ibv_reg_mr", kind, 1, EFAULT, kUnlimited, driver});
  };
  CHECK(told(MemoryKind::kDmabuf, Driver::kManaged).remedy.find("cudaMalloc") != std::string::npos);
  CHECK(told(MemoryKind::kPeermem, Driver::kIncapable).remedy.find("gpuDirectRDMACapable") !=
        std::string::npos);
  CHECK(told(MemoryKind::kPeermem, Driver::kGpu).remedy ==
        told(MemoryKind::kPeermem, Driver::kSilent).remedy);
  const auto as_host = told(MemoryKind::kHost, Driver::kGpu);
  CHECK(as_host.cause == Cause::kGdrRegFail);
  CHECK(as_host.sentence.find("the GPU's driver says that it is a GPU's memory") !=
        std::string::npos);
  CHECK(told(MemoryKind::kHost, Driver::kHost).cause == Cause::kMr14);
}

TEST_CASE("a QP that can't be created for another reason") {
  CHECK(diagnose(FailedCreation{"mlx5_0", EINVAL, kLittle}).cause == Cause::kQp22);
  CHECK(diagnose(FailedCreation{"mlx5_0", EPERM, kLittle}).cause == Cause::kQp1);
  CHECK(diagnose(FailedCreation{"mlx5_0", EIO, kLittle}).cause == Cause::kQpErrno);
}

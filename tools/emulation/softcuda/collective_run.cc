#include "collective_run.h"

#include <fmt/format.h>
#include <time.h>

#include <cstring>
#include <new>

#include "memory.h"

namespace softcuda {
namespace {

void* device_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (allocate(&memory, bytes, MemoryKind::kDevice) != kSuccess) throw std::bad_alloc();
  return memory;
}

double process_cpu_ms() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

char* offset(void* base, std::size_t bytes) { return static_cast<char*>(base) + bytes; }

}  // namespace

CollectiveRun::CollectiveRun(const NcclApi& nccl, NcclComm comm, const Action& action)
    : nccl_(nccl), comm_(comm), action_(action), pattern_{action.type, 0} {
  nccl_.comm_user_rank(comm_, &rank_);
  nccl_.comm_count(comm_, &nranks_);
  const auto size = static_cast<std::size_t>(size_of(action.type));
  const auto ranks = static_cast<std::size_t>(nranks_);
  count_ = action.bytes / size;
  send_count_ = action.collective == Collective::kReduceScatter ? count_ * ranks : count_;
  recv_count_ = action.collective == Collective::kAllGather ? count_ * ranks : count_;
  const std::size_t share = static_cast<std::size_t>(rank_) * count_ * size;
  if (!action.in_place || action.collective == Collective::kSendRecv) {
    send_ = send_block_ = device_memory(send_count_ * size);
    recv_ = recv_block_ = device_memory(recv_count_ * size);
  } else if (action.collective == Collective::kAllGather) {
    recv_ = recv_block_ = device_memory(recv_count_ * size);
    send_ = offset(recv_, share);
  } else {
    send_ = send_block_ = device_memory(send_count_ * size);
    recv_ = action.collective == Collective::kReduceScatter ? offset(send_, share) : send_;
  }
}

CollectiveRun::~CollectiveRun() {
  if (started_) return;
  release(send_block_);
  release(recv_block_);
}

void CollectiveRun::fill(int iteration) {
  constexpr int kGarbage = 0xee;
  pattern_.iteration = iteration;
  const auto size = static_cast<std::size_t>(size_of(action_.type));
  if (recv_block_ != nullptr) std::memset(recv_block_, kGarbage, recv_count_ * size);
  pattern_.fill(send_, 0, send_count_, rank_);
}

int CollectiveRun::send_and_receive(StreamHandle stream) {
  const int type = nccl_type(action_.type);
  if (int result = nccl_.group_start(); result != kNcclSuccess) return result;
  const int sent = nccl_.send(send_, count_, type, next(), comm_, stream);
  const int received = nccl_.recv(recv_, count_, type, previous(), comm_, stream);
  const int ended = nccl_.group_end();
  return sent != kNcclSuccess ? sent : received != kNcclSuccess ? received : ended;
}

int CollectiveRun::call(StreamHandle stream) {
  const int type = nccl_type(action_.type), op = nccl_operation(action_.operation);
  switch (action_.collective) {
    case Collective::kSendRecv:
      return send_and_receive(stream);
    case Collective::kBroadcast:
      return nccl_.broadcast(send_, recv_, count_, type, action_.root, comm_, stream);
    case Collective::kReduce:
      return nccl_.reduce(send_, recv_, count_, type, op, action_.root, comm_, stream);
    case Collective::kAllGather:
      return nccl_.all_gather(send_, recv_, count_, type, comm_, stream);
    case Collective::kReduceScatter:
      return nccl_.reduce_scatter(send_, recv_, count_, type, op, comm_, stream);
    case Collective::kAllReduce:
      break;
  }
  return nccl_.all_reduce(send_, recv_, count_, type, op, comm_, stream);
}

std::optional<CollectiveRun::Failure> CollectiveRun::start(StreamHandle stream) {
  if (!started_) {
    started_ = Clock::now();
    cpu_started_ms_ = process_cpu_ms();
  }
  const int result = call(stream);
  if (result == kNcclSuccess || result == kNcclInProgress) return std::nullopt;
  static constexpr const char* kCalls[] = {"ncclSend/ncclRecv", "ncclBroadcast",
                                           "ncclReduce",        "ncclAllGather",
                                           "ncclReduceScatter", "ncclAllReduce"};
  return Failure{kCalls[static_cast<int>(action_.collective)], result};
}

void CollectiveRun::finished() {
  busy_ms_ += std::chrono::duration<double, std::milli>(Clock::now() - started_.value()).count();
  cpu_ms_ += process_cpu_ms() - cpu_started_ms_;
  started_.reset();
}

std::optional<std::string> CollectiveRun::check() {
  std::optional<std::string> wrong;
  switch (action_.collective) {
    case Collective::kSendRecv:
      wrong = pattern_.check(recv_, 0, count_, previous());
      break;
    case Collective::kBroadcast:
      wrong = pattern_.check(recv_, 0, count_, action_.root);
      break;
    case Collective::kReduce:
      if (rank_ == action_.root)
        wrong = pattern_.check_reduced(recv_, 0, count_, action_.operation, nranks_);
      break;
    case Collective::kAllGather:
      for (int rank = 0; rank < nranks_ && !wrong; ++rank) {
        const std::size_t first = static_cast<std::size_t>(rank) * count_;
        const auto size = static_cast<std::size_t>(size_of(action_.type));
        wrong = pattern_.check(offset(recv_, first * size), 0, count_, rank);
      }
      break;
    case Collective::kReduceScatter:
      wrong = pattern_.check_reduced(recv_, static_cast<std::size_t>(rank_) * count_, count_,
                                     action_.operation, nranks_);
      break;
    case Collective::kAllReduce:
      wrong = pattern_.check_reduced(recv_, 0, count_, action_.operation, nranks_);
      break;
  }
  if (wrong)
    *wrong = fmt::format("wrong data after {} of {} bytes: {}", name_of(action_.collective),
                         action_.bytes, *wrong);
  return wrong;
}

}  // namespace softcuda

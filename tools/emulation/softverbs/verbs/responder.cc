#include "softverbs/verbs/responder.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "softverbs/verbs/completion.h"
#include "softverbs/verbs/dma.h"

namespace softverbs {

namespace {

constexpr int kFillsPerTurn = 64;  // then others get theirs
constexpr std::size_t kAnswerBytes = 256 * 1024;

bool ready_to_receive(const Qp& qp) {
  const ibv_qp_state state = qp.state.load();
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD;
}

bool takes_receive(std::uint8_t opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
         opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool has_immediate(std::uint8_t opcode) {
  return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

int needed_access(std::uint8_t opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_ACCESS_REMOTE_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_ACCESS_REMOTE_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_ACCESS_REMOTE_ATOMIC;
    default:
      return 0;
  }
}

}  // namespace

Responder::Responder(Engine& engine, int fd) : engine_(engine), fd_(fd) {
  watch_ = engine_.watch(fd_, EPOLLIN, *this);
}

Responder::~Responder() { ::close(fd_); }

void Responder::detach() {
  if (qp_ && qp_->responder == this) qp_->responder = nullptr;
  qp_ = nullptr;
  engine_.unwatch(fd_, watch_);
}

bool Responder::halted() const {
  return qp_ && (!engine_.joined(*qp_) || needs_receive_ || refused_);
}

void Responder::set_interest() {
  std::uint32_t events = halted() || (greeted_ && !qp_) ? 0U : EPOLLIN;
  if (blocked_ && qp_ && engine_.joined(*qp_)) events |= EPOLLOUT;
  engine_.rewatch(fd_, watch_, events);
}

void Responder::on_ready(std::uint32_t epoll_events) {
  const bool gone = epoll_events & (EPOLLHUP | EPOLLERR);
  if (greeted_ && (!qp_ || halted())) {
    if (gone) engine_.drop(this);
    return;
  }
  if (epoll_events & EPOLLOUT) blocked_ = false;
  if (!greeted_) {
    if (reader_.fill(fd_) == StreamReader::Status::kClosed) return engine_.drop(this);
    const char* head = reader_.head(sizeof hello_);
    if (!head) return;
    std::memcpy(&hello_, head, sizeof hello_);
    reader_.consume(sizeof hello_);
    greeted_ = true;
    if (hello_.magic != kHelloMagic || !engine_.find_qp(hello_.to_qp)) return engine_.drop(this);
    if (!try_attach()) set_interest();
    return;
  }
  proceed();
}

bool Responder::try_attach() {
  if (!greeted_ || qp_) return false;
  Qp* qp = engine_.find_qp(hello_.to_qp);
  if (!qp || !ready_to_receive(*qp) || qp->attr.dest_qp_num != hello_.from_qp ||
      qp->attr.rq_psn != hello_.psn)
    return false;
  if (qp->responder) engine_.drop(qp->responder);
  qp_ = qp;
  qp->responder = this;
  answers_.push_back({.head = {Answer::kWelcome, 0, 0, 0}});
  proceed();
  return true;
}

void Responder::proceed() {
  if (!qp_ || !engine_.joined(*qp_)) {
    set_interest();
    return;
  }
  if (needs_receive_) {
    needs_receive_ = false;
    qp_->starving.store(false);
    if (!begin(request_)) return;
  }
  if (!read_some()) return;
  if (ack_due_) acknowledge();
  if (!blocked_ && !send_answers()) return engine_.drop(this);
  set_interest();
}

// False: this responder was dropped.
bool Responder::read_some() {
  int fills = 0;
  while (!halted()) {
    if (in_request_ && !reader_.payload_pending()) {
      finish();
      if (!qp_) return false;  // the completion overran its queue
    }
    if (const char* head = in_request_ ? nullptr : reader_.head(sizeof(Request))) {
      std::memcpy(&request_, head, sizeof request_);
      reader_.consume(sizeof request_);
      if (!begin(request_)) return false;
      continue;
    }
    if (fills++ == kFillsPerTurn) return true;
    const StreamReader::Status status = reader_.fill(fd_);
    if (status == StreamReader::Status::kClosed) engine_.drop(this);
    if (status != StreamReader::Status::kMore) return status == StreamReader::Status::kWait;
  }
  return true;
}

char* Responder::memory(std::uint32_t rkey, std::uint64_t address, std::uint64_t length,
                        int access) const {
  const Mr* mr = engine_.find_mr(rkey);
  if (!mr || mr->pd != qp_->pd || (mr->access & access) != access) return nullptr;
  const std::uint64_t offset = address - mr->iova;
  if (address < mr->iova || offset > mr->mr.length || length > mr->mr.length - offset)
    return nullptr;
  return mr->base + offset;
}

// False: refused, and this responder was dropped.
bool Responder::begin(const Request& request) {
  const int access = needed_access(request.opcode);
  if ((qp_->attr.qp_access_flags & static_cast<unsigned>(access)) !=
      static_cast<unsigned>(access)) {
    refuse(IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return false;
  }
  const bool atomic = access == IBV_ACCESS_REMOTE_ATOMIC;
  char* target = nullptr;
  if (access && (request.length > 0 || atomic)) {
    target = memory(request.rkey, request.remote_addr, request.length, access);
    if (!target || (atomic && request.remote_addr % 8 != 0)) {
      refuse(target ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
      return false;
    }
  }
  std::vector<iovec> places;
  if (takes_receive(request.opcode)) {
    if (qp_->rq_taken >= qp_->rq.posted.load()) {
      qp_->starving.store(true);
      if (qp_->rq_taken >= qp_->rq.posted.load()) {  // still none
        needs_receive_ = true;
        if (!told_not_ready_)
          answers_.push_back(
              {.head = {Answer::kNotReady, qp_->attr.min_rnr_timer, request.sequence, 0}});
        told_not_ready_ = true;
        return true;
      }
      qp_->starving.store(false);
    }
    told_not_ready_ = false;
    receive_index_ = qp_->rq_taken++;
    has_receive_ = true;
    if (request.opcode != IBV_WR_RDMA_WRITE_WITH_IMM && !begin_receive(request.length, places))
      return false;
  }
  in_request_ = true;
  if (access == IBV_ACCESS_REMOTE_WRITE && request.length > 0)
    places.push_back({target, request.length});
  if (access == IBV_ACCESS_REMOTE_READ) {
    Outgoing out{.head = {Answer::kData, 0, request.sequence, request.length}};
    out.from_memory = true;
    out.rkey = request.rkey;
    out.remote_addr = request.remote_addr;
    answers_.push_back(out);
  }
  if (!places.empty()) reader_.expect(std::move(places));
  return true;
}

// Where a SEND goes: the places of the receive request. False: refused.
bool Responder::begin_receive(std::uint32_t length, std::vector<iovec>& places) {
  const RecvWqe& wqe = qp_->rq.at(receive_index_);
  const ibv_sge* sges = qp_->rq.sges_at(receive_index_);
  std::uint64_t left = length;
  for (int i = 0; i < wqe.sges && left > 0; ++i) {
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, sges[i].length));
    char* target = memory(sges[i].lkey, sges[i].addr, part, IBV_ACCESS_LOCAL_WRITE);
    if (!target) {
      complete_receive(IBV_WC_LOC_PROT_ERR, 0);
      refuse(IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL);
      return false;
    }
    places.push_back({target, part});
    left -= part;
  }
  if (left == 0) return true;
  complete_receive(IBV_WC_LOC_LEN_ERR, 0);
  refuse(IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  return false;
}

void Responder::finish() {
  in_request_ = false;
  if (needed_access(request_.opcode) == IBV_ACCESS_REMOTE_ATOMIC) answer_atomic();
  done_ = request_.sequence + 1;
  if (has_receive_) complete_receive(IBV_WC_SUCCESS, request_.length);
  if (needed_access(request_.opcode) != IBV_ACCESS_REMOTE_READ) ack_due_ = true;
}

void Responder::complete_receive(int status, std::uint32_t bytes) {
  ibv_wc wc{};
  wc.wr_id = qp_->rq.at(receive_index_).wr_id;
  wc.status = static_cast<ibv_wc_status>(status);
  wc.opcode =
      request_.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.vendor_err = vendor_error(*qp_, status);
  wc.byte_len = bytes;
  wc.qp_num = qp_->qp.qp_num;
  wc.src_qp = hello_.from_qp;
  if (has_immediate(request_.opcode)) {
    wc.imm_data = request_.imm;
    wc.wc_flags = IBV_WC_WITH_IMM;
  }
  has_receive_ = false;
  push_completion(engine_, *qp_->recv_cq, wc, *qp_, false, receive_index_ + 1);
}

void Responder::answer_atomic() {
  auto* word = reinterpret_cast<std::uint64_t*>(
      memory(request_.rkey, request_.remote_addr, sizeof(std::uint64_t), IBV_ACCESS_REMOTE_ATOMIC));
  std::uint64_t before = 0;
  const Dma dma;
  if (request_.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    before = __atomic_fetch_add(word, request_.compare, __ATOMIC_SEQ_CST);
  } else {
    before = request_.compare;
    __atomic_compare_exchange_n(word, &before, request_.swap, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
  }
  Outgoing out{.head = {Answer::kData, 0, request_.sequence, sizeof before}};
  out.value = before;
  answers_.push_back(out);
}

void Responder::acknowledge() {
  ack_due_ = false;
  if (!answers_.empty() && answers_.back().head.kind == Answer::kAck && answers_.back().sent == 0)
    answers_.back().head.sequence = done_;
  else
    answers_.push_back({.head = {Answer::kAck, 0, done_, 0}});
}

// A request that must not be carried out: tells the requester, and the QP falls into ERR.
void Responder::refuse(int status, int event) {
  refused_ = true;
  answers_.push_back(
      {.head = {Answer::kRefused, static_cast<std::uint32_t>(status), request_.sequence, 0}});
  send_answers();
  Qp& qp = *qp_;
  raise_qp_event(qp, event);
  to_error(engine_, qp);  // drops this
}

// False: the connection is gone.
bool Responder::send_answers() {
  std::size_t budget = kAnswerBytes;
  while (!answers_.empty() && budget > 0) {
    Outgoing& out = answers_.front();
    const std::size_t total = sizeof out.head + out.head.length;
    iovec parts[2] = {{&out.head, sizeof out.head}, {&out.value, out.head.length}};
    if (out.from_memory) {
      parts[1].iov_base =
          memory(out.rkey, out.remote_addr, out.head.length, IBV_ACCESS_REMOTE_READ);
      if (!parts[1].iov_base && out.head.length > 0) return false;  // deregistered meanwhile
    }
    std::size_t skip = out.sent;
    for (iovec& part : parts) {
      const std::size_t step = std::min(skip, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + step;
      part.iov_len -= step;
      skip -= step;
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t sent = 0;
    {
      const Dma dma;
      sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (sent < 0) {
      blocked_ = errno == EAGAIN || errno == EINTR;
      return blocked_;
    }
    out.sent += static_cast<std::size_t>(sent);
    budget -= std::min(budget, static_cast<std::size_t>(sent));
    if (out.sent == total) answers_.pop_front();
  }
  blocked_ = !answers_.empty();
  return true;
}

}  // namespace softverbs

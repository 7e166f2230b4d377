#include "softverbs/verbs/requester.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "softverbs/verbs/completion.h"
#include "softverbs/verbs/dma.h"
#include "softverbs/verbs/faults.h"

namespace softverbs {

namespace {

constexpr auto kNever = Clock::time_point::max();
constexpr std::size_t kBatchBytes = 256 * 1024;
constexpr std::size_t kBatchRequests = 16;
constexpr int kMaxReconnectShift = 6;

bool has_answer_data(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
         opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

// The receiver's wait between two tries, by its 5-bit code (InfiniBand specification, table 45).
std::chrono::microseconds rnr_wait(std::uint32_t code) {
  constexpr int kHundredths[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                   16,    24,   32,   48,    64,    96,    128,   192,
                                   256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                   4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::chrono::microseconds(kHundredths[code & 31] * 10);
}

}  // namespace

void Requester::start() {
  attempts_ = 0;
  connect();
  engine_.queue(qp_);
}

void Requester::stop() {
  disconnect();
  acked_ = prepared_ = sent_ = released_ = 0;
  reads_in_flight_ = 0;
  failure_ = {};
  give_up_ = rnr_give_up_ = reconnect_ = held_until_ = kNever;
}

bool Requester::connect() {
  reconnect_ = kNever;
  if (fd_ >= 0) return true;
  if (!qp_.peer || !engine_.joined(qp_)) return false;
  fd_ = engine_.rendezvous().connect_to(qp_.peer.host->name, qp_.attr.dest_qp_num);
  if (fd_ < 0) {
    const int wait_ms = 2 << std::min(attempts_++, kMaxReconnectShift);
    reconnect_ = Clock::now() + std::chrono::milliseconds(wait_ms);
    engine_.wake_at(qp_);
    return false;
  }
  base_ = sent_ = acked_;
  sent_bytes_ = 0;
  welcome_ = blocked_ = false;
  reader_.reset();
  reading_ = false;
  const Hello hello{kHelloMagic, qp_.attr.dest_qp_num, qp_.qp.qp_num, qp_.attr.sq_psn};
  watch_ = engine_.watch(fd_, EPOLLIN, *this);
  if (::send(fd_, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof hello) lost();
  return fd_ >= 0;
}

void Requester::disconnect() {
  if (fd_ < 0) return;
  engine_.unwatch(fd_, watch_);
  ::close(fd_);
  fd_ = -1;
  welcome_ = false;
}

// The connection is gone: the peer's QP or its process may be. What is not answered is sent again
// on a new connection, until the retries are used up.
void Requester::lost() {
  disconnect();
  if (posted() == acked_) return;
  const int wait_ms = 2 << std::min(attempts_++, kMaxReconnectShift);
  reconnect_ = Clock::now() + std::chrono::milliseconds(wait_ms);
  arm_timeout();
  engine_.wake_at(qp_);
}

void Requester::arm_timeout() {
  if ((welcome_ && engine_.joined(qp_)) || posted() == acked_) {
    give_up_ = kNever;
    return;
  }
  if (give_up_ != kNever || qp_.attr.timeout == 0) return;
  const auto once = std::chrono::nanoseconds(4096LL << qp_.attr.timeout);
  give_up_ = Clock::now() + once * (qp_.attr.retry_cnt + 1);
  engine_.wake_at(qp_);
}

void Requester::link_changed() {
  if (fd_ >= 0) set_interest();
  if (engine_.joined(qp_) && fd_ < 0) connect();
  arm_timeout();
  engine_.queue(qp_);
}

Clock::time_point Requester::next_time() const {
  return std::min({give_up_, rnr_give_up_, reconnect_, held_until_});
}

void Requester::keep_time(Clock::time_point now) {
  if (now >= give_up_ && acked_ < posted()) {
    fail(acked_, IBV_WC_RETRY_EXC_ERR, vendor_error(qp_, IBV_WC_RETRY_EXC_ERR));
  } else if (now >= rnr_give_up_ && acked_ < posted()) {
    fail(acked_, IBV_WC_RNR_RETRY_EXC_ERR, vendor_error(qp_, IBV_WC_RNR_RETRY_EXC_ERR));
  } else if (now >= reconnect_) {
    connect();
  } else if (now >= held_until_) {
    held_until_ = kNever;
    pump();
  }
}

void Requester::set_interest() {
  const bool quiet = !engine_.joined(qp_);
  engine_.rewatch(fd_, watch_, quiet ? 0U : blocked_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Requester::on_ready(std::uint32_t epoll_events) {
  if (!engine_.joined(qp_)) {
    if (epoll_events & (EPOLLHUP | EPOLLERR)) lost();
    return;
  }
  if ((epoll_events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !read_responses()) return;
  if (epoll_events & EPOLLOUT) {
    blocked_ = false;
    set_interest();
  }
  pump();
}

void Requester::pump() {
  if (qp_.state.load() != IBV_QPS_RTS) return;
  if (posted() > acked_ && fd_ < 0 && reconnect_ == kNever) connect();
  arm_timeout();
  if (!welcome_ || blocked_ || !engine_.joined(qp_)) return;
  if (send_batch() && sent_ < posted()) engine_.queue(qp_);
}

// Where the payload lies in memory. False: a key, a bound or a right is wrong.
bool Requester::places(std::uint64_t index, int access, std::vector<iovec>& out) const {
  SendWqe& wqe = qp_.sq.at(index);
  if (wqe.inline_bytes > 0) {
    out.push_back({qp_.inline_at(index), wqe.inline_bytes});
    return true;
  }
  const ibv_sge* sges = qp_.sq.sges_at(index);
  for (int i = 0; i < wqe.sges; ++i) {
    if (sges[i].length == 0) continue;
    const Mr* mr = engine_.find_mr(sges[i].lkey);
    if (!mr || mr->pd != qp_.pd || (mr->access & access) != access) return false;
    const std::uint64_t offset = sges[i].addr - mr->iova;
    if (sges[i].addr < mr->iova || offset > mr->mr.length ||
        sges[i].length > mr->mr.length - offset)
      return false;
    out.push_back({mr->base + offset, sges[i].length});
  }
  return true;
}

// Checks a request before its first byte goes out; one that has begun goes on. False: not now, or
// never.
bool Requester::prepare(std::uint64_t index) {
  if (index >= prepared_ && (failure_.set || held_until_ != kNever)) return false;
  const SendWqe& wqe = qp_.sq.at(index);
  const bool answered = has_answer_data(wqe.opcode);
  if (index >= prepared_) {
    const int limit = std::max<int>(1, qp_.attr.max_rd_atomic);
    if (answered && reads_in_flight_ >= limit) return false;
    if ((wqe.flags & IBV_SEND_FENCE) && reads_in_flight_ > 0) return false;
  }
  std::vector<iovec> unused;
  if (!places(index, answered ? IBV_ACCESS_LOCAL_WRITE : 0, unused)) {
    failure_ = {true, index, IBV_WC_LOC_PROT_ERR, vendor_error(qp_, IBV_WC_LOC_PROT_ERR)};
    return false;
  }
  if (index < prepared_) return true;
  if (index >= released_) {
    released_ = index + 1;
    if (const auto injected = engine_.faults().work_request(qp_.local, answered)) {
      if (injected->status == 0)
        hold(injected->hold_ms);
      else
        failure_ = {true, index, injected->status, injected->vendor_err};
      return false;
    }
  }
  prepared_ = index + 1;
  if (answered) ++reads_in_flight_;
  return true;
}

void Requester::hold(int ms) {
  held_until_ = Clock::now() + std::chrono::milliseconds(ms);
  engine_.wake_at(qp_);
}

void Requester::append_request(std::uint64_t index, Request& head, std::vector<iovec>& out) const {
  const SendWqe& wqe = qp_.sq.at(index);
  head = {};
  head.sequence = index - base_;
  head.remote_addr = wqe.remote_addr;
  head.compare = wqe.compare;
  head.swap = wqe.swap;
  head.rkey = wqe.rkey;
  head.length = wqe.length;
  head.imm = wqe.imm;
  head.opcode = static_cast<std::uint8_t>(wqe.opcode);
  head.solicited = (wqe.flags & IBV_SEND_SOLICITED) ? 1 : 0;
  out.push_back({&head, sizeof head});
  if (!has_answer_data(wqe.opcode)) places(index, 0, out);
}

// Sends a batch. True: there was room for all of it.
bool Requester::send_batch() {
  Request heads[kBatchRequests];
  std::vector<iovec> out;
  std::size_t bytes = 0;
  const std::uint64_t end = posted();
  std::uint64_t index = sent_;
  for (std::size_t n = 0; n < kBatchRequests && index < end && bytes < kBatchBytes; ++n, ++index) {
    if (!prepare(index)) break;
    const std::size_t first = out.size();
    append_request(index, heads[n], out);
    for (std::size_t i = first; i < out.size(); ++i) bytes += out[i].iov_len;
  }
  if (out.empty()) {
    if (failure_.set && failure_.index == acked_)
      fail(failure_.index, failure_.status, failure_.vendor_err);
    return false;
  }
  std::size_t skip = sent_bytes_;
  std::size_t from = 0;
  while (skip > 0 && skip >= out[from].iov_len) skip -= out[from++].iov_len;
  out[from].iov_base = static_cast<char*>(out[from].iov_base) + skip;
  out[from].iov_len -= skip;
  msghdr message{};
  message.msg_iov = out.data() + from;
  message.msg_iovlen = std::min<std::size_t>(out.size() - from, 512);
  ssize_t sent = 0;
  {
    const Dma dma;
    sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  if (sent < 0) {
    if (errno == EAGAIN || errno == EINTR) {
      blocked_ = true;
      set_interest();
    } else if (read_responses()) {  // an answer that says why may be waiting
      lost();
    }
    return false;
  }
  advance(static_cast<std::size_t>(sent));
  return true;
}

void Requester::advance(std::size_t bytes) {
  sent_bytes_ += bytes;
  while (sent_ < prepared_) {
    const SendWqe& wqe = qp_.sq.at(sent_);
    const std::size_t size =
        sizeof(Request) + (has_answer_data(wqe.opcode) ? 0 : std::size_t{wqe.length});
    if (sent_bytes_ < size) break;
    sent_bytes_ -= size;
    ++sent_;
  }
  if (qp_.qp.qp_type == IBV_QPT_UC) acknowledge(sent_);
}

// False: the connection is gone, or the QP fell into ERR.
bool Requester::read_responses() {
  for (;;) {
    while (!reader_.payload_pending()) {
      if (reading_) {
        reading_ = false;
        acknowledge(read_index_ + 1);
        if (fd_ < 0) return false;
      }
      const char* head = reader_.head(sizeof(Response));
      if (!head) break;
      Response response;
      std::copy_n(head, sizeof response, reinterpret_cast<char*>(&response));
      reader_.consume(sizeof response);
      if (!take(response)) return false;
    }
    const StreamReader::Status status = reader_.fill(fd_);
    if (status == StreamReader::Status::kClosed) lost();
    if (status != StreamReader::Status::kMore) return status == StreamReader::Status::kWait;
  }
}

bool Requester::take(const Response& response) {
  const std::uint64_t index = base_ + response.sequence;
  switch (response.kind) {
    case Answer::kWelcome:
      welcome_ = true;
      attempts_ = 0;
      arm_timeout();
      break;
    case Answer::kAck:
      acknowledge(index);
      break;
    case Answer::kData: {
      std::vector<iovec> to;
      if (!places(index, IBV_ACCESS_LOCAL_WRITE, to)) {
        acknowledge(index);
        fail(index, IBV_WC_LOC_PROT_ERR, vendor_error(qp_, IBV_WC_LOC_PROT_ERR));
        return false;
      }
      reading_ = true;
      read_index_ = index;
      reader_.expect(std::move(to));
      break;
    }
    case Answer::kNotReady:
      if (qp_.attr.rnr_retry == 7) break;  // for ever
      rnr_give_up_ = Clock::now() + rnr_wait(response.value) * (qp_.attr.rnr_retry + 1);
      engine_.wake_at(qp_);
      break;
    case Answer::kRefused: {
      acknowledge(index);
      const int status = static_cast<int>(response.value);
      fail(index, status, vendor_error(qp_, status));
      return false;
    }
  }
  return qp_.state.load() == IBV_QPS_RTS;
}

void Requester::acknowledge(std::uint64_t up_to) {
  if (up_to <= acked_) return;
  rnr_give_up_ = kNever;
  while (acked_ < up_to && acked_ < sent_) complete(acked_++, IBV_WC_SUCCESS, 0);
  arm_timeout();
  if (failure_.set && failure_.index == acked_) {
    fail(failure_.index, failure_.status, failure_.vendor_err);
  } else if (prepared_ < posted()) {
    engine_.queue(qp_);  // one that waited for a read or a fence
  }
}

void Requester::complete(std::uint64_t index, int status, std::uint32_t vendor_err) {
  const SendWqe& wqe = qp_.sq.at(index);
  if (index < prepared_ && has_answer_data(wqe.opcode)) --reads_in_flight_;
  if (status == IBV_WC_SUCCESS && !qp_.signal_all && !(wqe.flags & IBV_SEND_SIGNALED)) return;
  ibv_wc wc{};
  wc.wr_id = wqe.wr_id;
  wc.status = static_cast<ibv_wc_status>(status);
  wc.opcode = completion_opcode(wqe.opcode);
  wc.vendor_err = vendor_err;
  wc.byte_len = wqe.length;
  wc.qp_num = qp_.qp.qp_num;
  push_completion(engine_, *qp_.send_cq, wc, qp_, true, index + 1);
}

void Requester::fail(std::uint64_t index, int status, std::uint32_t vendor_err) {
  complete(index, status, vendor_err);
  acked_ = index + 1;
  failure_ = {};
  to_error(engine_, qp_);
}

void Requester::flush() {
  disconnect();
  give_up_ = rnr_give_up_ = reconnect_ = held_until_ = kNever;
  while (acked_ < posted()) {
    const std::uint64_t index = acked_++;
    complete(index, IBV_WC_WR_FLUSH_ERR, vendor_error(qp_, IBV_WC_WR_FLUSH_ERR));
  }
}

}  // namespace softverbs

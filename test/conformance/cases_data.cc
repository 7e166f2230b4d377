#include <algorithm>

#include "conformance/cases.h"

namespace conformance {

namespace {

void fill(Pair::End& end, std::size_t offset, std::size_t length, int seed) {
  for (std::size_t i = 0; i < length; ++i)
    end.memory[offset + i] = static_cast<char>(seed + static_cast<int>(i * 31));
}

std::string same(const Pair& pair, std::size_t from, std::size_t to, std::size_t length) {
  const bool equal = std::equal(pair.a.memory.begin() + static_cast<std::ptrdiff_t>(from),
                                pair.a.memory.begin() + static_cast<std::ptrdiff_t>(from + length),
                                pair.b.memory.begin() + static_cast<std::ptrdiff_t>(to));
  return equal ? "" : "the bytes differ";
}

Send write_of(const Pair& pair, std::size_t from, std::size_t to, std::size_t length) {
  Send send;
  send.sges = {pair.a.sge(from, length)};
  send.remote = pair.b.address(to);
  send.rkey = pair.b.mr->rkey;
  return send;
}

std::string write(Bench& bench, std::size_t length) {
  Pair pair(bench);
  fill(pair.a, 0, length, 3);
  post(pair.a.qp, write_of(pair, 0, 0, length));
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
      !wrong.empty())
    return wrong;
  return same(pair, 0, 0, length);
}

std::string write_immediate(Bench& bench) {
  Pair pair(bench);
  fill(pair.a, 0, 100, 5);
  post_receive(pair.b.qp, 77, {});
  Send send = write_of(pair, 0, 200, 100);
  send.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  send.imm = 0x01020304;
  post(pair.a.qp, send);
  const auto wc = next(pair.b.cq);
  if (!wc) return "no completion at the receiver";
  if (wc->wr_id != 77 || wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM)
    return expect_number("opcode", IBV_WC_RECV_RDMA_WITH_IMM, static_cast<long>(wc->opcode));
  if (!(wc->wc_flags & IBV_WC_WITH_IMM) || wc->imm_data != 0x01020304)
    return "the immediate is wrong";
  if (wc->byte_len != 100) return expect_number("byte_len", 100, wc->byte_len);
  if (auto wrong = same(pair, 0, 200, 100); !wrong.empty()) return wrong;
  return expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
}

std::string send_receive(Bench& bench, ibv_wr_opcode opcode) {
  Pair pair(bench);
  fill(pair.a, 0, 300, 9);
  post_receive(pair.b.qp, 5, {pair.b.sge(0, 128), pair.b.sge(4096, 4096)});  // scattered
  Send send;
  send.opcode = opcode;
  send.sges = {pair.a.sge(0, 28), pair.a.sge(28, 272)};  // gathered
  post(pair.a.qp, send);
  const auto wc = next(pair.b.cq);
  if (!wc || wc->status != IBV_WC_SUCCESS) return "the receiver got no data";
  if (wc->opcode != IBV_WC_RECV || wc->byte_len != 300)
    return expect_number("byte_len", 300, wc->byte_len);
  if (auto wrong = same(pair, 0, 0, 128); !wrong.empty()) return wrong;
  if (auto wrong = same(pair, 128, 4096, 172); !wrong.empty()) return wrong;
  return expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS, IBV_WC_SEND);
}

std::string read(Bench& bench) {
  Pair pair(bench);
  fill(pair.b, 1000, 5000, 1);
  Send send = write_of(pair, 1000, 1000, 5000);
  send.opcode = IBV_WR_RDMA_READ;
  post(pair.a.qp, send);
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
      !wrong.empty())
    return wrong;
  return same(pair, 1000, 1000, 5000);
}

std::string many_reads(Bench& bench) {
  QpOptions options;
  options.send_wr = 64;
  Pair pair(bench, options);
  fill(pair.b, 0, 64 * 100, 4);
  for (std::uint64_t i = 0; i < 60; ++i) {  // far more than may be in flight at once
    Send send = write_of(pair, i * 100, i * 100, 100);
    send.opcode = IBV_WR_RDMA_READ;
    send.id = i;
    if (const int e = post(pair.a.qp, send)) return expect_number("post", 0, e);
  }
  for (std::uint64_t i = 0; i < 60; ++i)
    if (auto wrong = expect_completion(pair.a.cq, i, IBV_WC_SUCCESS); !wrong.empty()) return wrong;
  return same(pair, 0, 0, 6000);
}

std::string atomics(Bench& bench) {
  if (bench.device.atomic_cap == IBV_ATOMIC_NONE) return "";
  Pair pair(bench);
  std::uint64_t word = 40;
  std::memcpy(pair.b.memory.data() + 64, &word, sizeof word);
  Send send = write_of(pair, 0, 64, 8);
  send.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  send.compare = 2;
  post(pair.a.qp, send);
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD);
      !wrong.empty())
    return wrong;
  std::memcpy(&word, pair.a.memory.data(), sizeof word);
  if (word != 40) return expect_number("value before the addition", 40, static_cast<long>(word));
  send.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  send.compare = 42;
  send.swap = 7;
  post(pair.a.qp, send);
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS, IBV_WC_COMP_SWAP);
      !wrong.empty())
    return wrong;
  std::memcpy(&word, pair.b.memory.data() + 64, sizeof word);
  return expect_number("value after the swap", 7, static_cast<long>(word));
}

std::string inline_data(Bench& bench) {
  Pair pair(bench);
  fill(pair.a, 0, 64, 8);
  Send send = write_of(pair, 0, 0, 64);
  send.flags |= IBV_SEND_INLINE;
  send.sges[0].lkey = 0;  // not looked at
  post(pair.a.qp, send);
  const std::vector<char> sent(pair.a.memory.begin(), pair.a.memory.begin() + 64);
  fill(pair.a, 0, 64, 99);  // the buffer is the caller's again at once
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS); !wrong.empty()) return wrong;
  return std::equal(sent.begin(), sent.end(), pair.b.memory.begin()) ? "" : "the bytes differ";
}

std::string unsignalled(Bench& bench) {
  Pair pair(bench);
  for (std::uint64_t i = 0; i < 8; ++i) {
    Send send = write_of(pair, 0, 0, 16);
    send.id = i;
    send.flags = i == 7 ? IBV_SEND_SIGNALED : 0;
    post(pair.a.qp, send);
  }
  return expect_completion(pair.a.cq, 7, IBV_WC_SUCCESS);
}

std::string no_bytes(Bench& bench) {
  Pair pair(bench);
  post_receive(pair.b.qp, 3, {});
  Send send;
  send.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  post(pair.a.qp, send);
  if (auto wrong = expect_completion(pair.b.cq, 3, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM);
      !wrong.empty())
    return wrong;
  return expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
}

std::string in_order(Bench& bench) {
  QpOptions options;
  options.send_wr = 256;
  Pair pair(bench, options, true, kAllAccess, 512);
  for (std::uint64_t i = 0; i < 200; ++i) {
    Send send = write_of(pair, i * 8, 0, 8);
    std::memcpy(pair.a.memory.data() + i * 8, &i, sizeof i);
    send.id = i;
    if (const int e = post(pair.a.qp, send)) return expect_number("post", 0, e);
  }
  for (std::uint64_t i = 0; i < 200; ++i)
    if (auto wrong = expect_completion(pair.a.cq, i, IBV_WC_SUCCESS); !wrong.empty()) return wrong;
  std::uint64_t last = 0;
  std::memcpy(&last, pair.b.memory.data(), sizeof last);
  return expect_number("last write", 199, static_cast<long>(last));
}

std::string late_receive(Bench& bench) {
  Pair pair(bench);
  Send send;
  send.opcode = IBV_WR_SEND;
  send.sges = {pair.a.sge(0, 8)};
  post(pair.a.qp, send);
  post_receive(pair.b.qp, 6, {pair.b.sge(0, 64)});
  if (auto wrong = expect_completion(pair.b.cq, 6, IBV_WC_SUCCESS, IBV_WC_RECV); !wrong.empty())
    return wrong;
  return expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
}

std::string after_reset(Bench& bench) {
  Pair pair(bench);
  for (Pair::End* end : {&pair.a, &pair.b}) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    if (const int e = verbs().modify_qp(end->qp, &attr, IBV_QP_STATE))
      return expect_number("to RESET", 0, e);
  }
  if (const int e = pair.connect()) return expect_number("connect again", 0, e);
  fill(pair.a, 0, 64, 2);
  post(pair.a.qp, write_of(pair, 0, 0, 64));
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS); !wrong.empty()) return wrong;
  return same(pair, 0, 0, 64);
}

}  // namespace

const std::vector<Case>& data_cases() {
  static const std::vector<Case> cases = {
      {"data.write", "RDMA write of 100 bytes arrives", [](Bench& b) { return write(b, 100); }},
      {"data.write-large", "RDMA write of 1 MiB arrives",
       [](Bench& b) { return write(b, Pair::kBytes); }},
      {"data.write-imm", "write with immediate takes one receive, which tells length and immediate",
       write_immediate},
      {"data.send", "send gathers and scatters",
       [](Bench& b) { return send_receive(b, IBV_WR_SEND); }},
      {"data.send-imm", "send with immediate likewise",
       [](Bench& b) { return send_receive(b, IBV_WR_SEND_WITH_IMM); }},
      {"data.read", "RDMA read fetches", read},
      {"data.reads", "more reads than may be in flight all complete, in order", many_reads},
      {"data.atomics", "fetch-and-add and compare-and-swap give the value before", atomics},
      {"data.inline", "inline data is taken at the call, whatever the lkey", inline_data},
      {"data.unsignalled", "only the signalled one of eight writes completes visibly", unsignalled},
      {"data.empty", "a write with immediate and no bytes", no_bytes},
      {"data.order", "writes take effect in order and complete in order", in_order},
      {"data.rnr", "a send waits for its receive when rnr_retry is 7", late_receive},
      {"data.reset", "after RESET a QP works anew", after_reset},
  };
  return cases;
}

}  // namespace conformance

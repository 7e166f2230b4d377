// A process with one QP that does what it is told, line by line, on its standard input: the other
// side of the fabric's tests.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>

#include "conformance/bench.h"

using namespace conformance;

namespace {

struct Peer {
  explicit Peer(const std::string& device) : bench(device), pair(bench, {}, false) {}

  // What the other side must know: QP number, GID, LID, key, address.
  std::string introduce() const {
    std::ostringstream out;
    out << pair.a.qp->qp_num << " " << bench.port.gid.global.subnet_prefix << " "
        << bench.port.gid.global.interface_id << " " << bench.port.lid << " " << pair.a.mr->rkey
        << " " << pair.a.address(0);
    return out.str();
  }

  int connect(std::istream& words) {
    std::uint32_t qp = 0;
    PortAddress to = bench.port;
    words >> qp >> to.gid.global.subnet_prefix >> to.gid.global.interface_id >> to.lid >> rkey >>
        address;
    int timeout = 0;
    QpOptions options;
    if (words >> timeout) {
      options.timeout = static_cast<std::uint8_t>(timeout);
      options.retry = 1;
    }
    ibv_qp_attr init = init_attr(bench.port);
    if (const int error = verbs().modify_qp(pair.a.qp, &init, kInitMask)) return error;
    ibv_qp_attr rtr = rtr_attr(to, qp, options);
    if (const int error = verbs().modify_qp(pair.a.qp, &rtr, kRtrMask)) return error;
    ibv_qp_attr rts = rts_attr(options);
    return verbs().modify_qp(pair.a.qp, &rts, kRtsMask);
  }

  int write(std::size_t length) const {
    Send send;
    send.sges = {pair.a.sge(0, length)};
    send.remote = address;
    send.rkey = rkey;
    return post(pair.a.qp, send);
  }

  Bench bench;
  Pair pair;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
};

std::string wait_completion(Peer& peer) {
  const auto wc = next(peer.pair.a.cq);
  if (!wc) return "none";
  return std::to_string(wc->status) + " " + std::to_string(wc->vendor_err);
}

std::string wait_event(Peer& peer) {
  auto event = next_event(peer.bench.context);
  if (!event) return "none";
  const std::string text = std::to_string(event->event_type);
  verbs().ack_async_event(&*event);
  return text;
}

unsigned checksum(const Peer& peer, std::size_t length) {
  unsigned sum = 1;
  for (std::size_t i = 0; i < length; ++i)
    sum = sum * 31 + static_cast<unsigned char>(peer.pair.a.memory[i]);
  return sum;
}

int port_state(Peer& peer) {
  ibv_port_attr attr{};
  verbs().query_port(peer.bench.context, peer.bench.port.port, &attr);
  return attr.state;
}

// A child that outlives this process, with whatever descriptors it got.
void leave_child_behind() {
  if (::fork() == 0) {
    std::cin.get();  // until the test closes the pipe
    ::_exit(0);
  }
  ::_exit(0);
}

std::string answer(Peer& peer, const std::string& command, std::istream& words) {
  std::size_t length = 0;
  if (command == "introduce") return peer.introduce();
  if (command == "connect") return std::to_string(peer.connect(words));
  if (command == "completion") return wait_completion(peer);
  if (command == "event") return wait_event(peer);
  if (command == "state") return std::to_string(port_state(peer));
  if (command == "abandon") leave_child_behind();
  words >> length;
  if (command == "write") return std::to_string(peer.write(length));
  if (command == "sum") return std::to_string(checksum(peer, length));
  if (command == "fill") {
    for (std::size_t i = 0; i < length; ++i)
      peer.pair.a.memory[i] = static_cast<char>(i * 7 + i / 256);
    return "0";
  }
  return "?";
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // never outlive the test
  try {
    Peer peer(argc > 1 ? argv[1] : "");
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string command;
      words >> command;
      std::cout << answer(peer, command, words) << std::endl;
    }
  } catch (const std::exception& wrong) {
    std::cout << wrong.what() << std::endl;
    return 1;
  }
  return 0;
}

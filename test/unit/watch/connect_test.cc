// Connections that don't come about: where each is, told at 5, 15 and 60 s and then sparsely.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scene.h"

using namespace nnd::watch::test;
using nnd::diagnosis::Cause;

namespace {

// A TCP listener whose queue has room for one, and connections to it that nobody accepts.
class Listener {
 public:
  Listener() {
    fds_.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    REQUIRE(::bind(fds_[0], reinterpret_cast<sockaddr*>(&address_), size) == 0);
    REQUIRE(::listen(fds_[0], 0) == 0);
    REQUIRE(::getsockname(fds_[0], reinterpret_cast<sockaddr*>(&address_), &size) == 0);
  }
  ~Listener() {
    for (const int fd : fds_) ::close(fd);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // What the kernel says of a new connection; TCP_ESTABLISHED or TCP_SYN_SENT.
  int dial() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    fds_.push_back(fd);
    ::connect(fd, reinterpret_cast<sockaddr*>(&address_), sizeof address_);
    return state_of(fd);
  }
  // Somebody whom nothing answers: those before, who fill the queue, have hung up.
  void dial_in_vain() {
    for (int i = 0; i < 16; ++i) {
      if (dial() == TCP_SYN_SENT) return;
      ::shutdown(fds_.back(), SHUT_WR);
    }
    FAIL("a listener with a full queue still answers");
  }

  void tell(Comm& comm) const {
    nnd::state::ConnectionStart start;
    comm.at->start.get(start);
    start.listener = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    start.listener_port = ntohs(address_.sin_port);
    comm.at->start.set(start);
  }

 private:
  // The kernel answers itself on the loopback before connect() returns.
  static int state_of(int fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info.tcpi_state;
  }

  std::vector<int> fds_;
  sockaddr_in address_{};
};

}  // namespace

TEST_CASE("a peer that does not answer is told at 5, 15 and 60 s, then sparsely, and no warning") {
  const Said out = said([] {
    Scene scene;
    Comm connect(ConnectionKind::kSend);
    scene.pass(500, [&] { connect.poll(); });
  });
  CHECK(ages(out.stalls) == std::vector{5, 15, 60, 120, 240, 480});
  CHECK(out.warnings.empty());
  const json& first = out.stalls.at(0);
  CHECK(first["kind"] == "not-accepted");
  CHECK(first["cause"] == "HANG-CONNECT");
  CHECK(first["dir"] == "send");
  CHECK(first["dev"]["name"] == "mlx5_0");
  CHECK(first["peer"]["gid"] == "::ffff:10.0.0.9");
  CHECK(first["link"]["listen"] == 1);
  CHECK(first["msg"] ==
        "mlx5_0:1: connect towards 10.0.0.9 has waited 5.0 s: the peer has not taken it up.");
  CHECK(out.resumes.empty());
}

TEST_CASE("a connection that comes about late is told as resumed, with its seconds") {
  const Said out = said([] {
    Scene scene;
    Comm connect(ConnectionKind::kSend);
    scene.pass(21, [&] { connect.poll(); });
    connect.ready();
    scene.pass(20);
  });
  CHECK(ages(out.stalls) == std::vector{5, 15});
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "not-accepted");
  CHECK(out.resumes[0]["dur_us"].get<double>() == 21e6);
  CHECK(out.resumes[0]["conn"] == out.stalls[0]["conn"]);
}

TEST_CASE("each stage waits for itself: a late peer does not make a short move a long one") {
  const Said out = said([] {
    Scene scene;
    Comm accept(ConnectionKind::kRecv);
    scene.pass(100, [&] { accept.poll(); });
    accept.at->in_call = true;
    accept.at->stage = Stage::kInit;
    accept.at->moving_since = nnd::context::raw_clock::now();
    scene.pass(4);  // a neighbour that is slow to answer
    accept.at->in_call = false;
    accept.at->moving_since = 0;
    accept.ready();
    scene.pass(5);
  });
  CHECK(ages(out.stalls) == std::vector{5, 15, 60});
  CHECK(out.warnings.empty());
  REQUIRE(out.resumes.size() == 1);
  CHECK(out.resumes[0]["kind"] == "not-dialled");
}

TEST_CASE("one that comes about in time is not told, nor is a listen comm that nobody dials") {
  const Said out = said([] {
    Scene scene;
    Comm listener(ConnectionKind::kListen), connect(ConnectionKind::kSend);
    scene.pass(4, [&] { connect.poll(); });
    connect.ready();
    scene.pass(30);
  });
  CHECK(out.stalls.empty());
  CHECK(out.resumes.empty());
}

TEST_CASE("one that failed is not told as resumed") {
  const Said out = said([] {
    Scene scene;
    Comm connect(ConnectionKind::kSend);
    scene.pass(6, [&] { connect.poll(); });
    connect.at->stage = Stage::kFailed;
    scene.pass(30);
    connect.close();
    scene.pass(30);
  });
  CHECK(out.stalls.size() == 1);
  CHECK(out.resumes.empty());
}

TEST_CASE("the TCP connection tells which end an accept waits for") {
  const Said nobody = said([] {
    Scene scene;
    const Listener listener;
    Comm accept(ConnectionKind::kRecv);
    listener.tell(accept);
    scene.pass(6, [&] { accept.poll(); });
  });
  REQUIRE(nobody.stalls.size() == 1);
  CHECK(nobody.stalls[0]["kind"] == "not-dialled");
  CHECK(nobody.warnings.empty());
  const std::string at = nobody.stalls[0]["listener"];
  CHECK(at.substr(0, 10) == "127.0.0.1:");
  CHECK(nobody.stalls[0]["msg"].get<std::string>().find("nobody has connected to " + at) !=
        std::string::npos);

  const Said silent = said([] {
    Scene scene;
    Listener listener;
    listener.dial();
    Comm accept(ConnectionKind::kRecv);
    listener.tell(accept);
    scene.pass(16, [&] { accept.poll(); });
  });
  REQUIRE(silent.stalls.size() == 2);
  CHECK(silent.stalls[0]["kind"] == "metadata");
  CHECK(silent.stalls[0]["sev"] == "info");
  CHECK(silent.stalls[1]["kind"] == "metadata");
  CHECK(silent.stalls[1]["sev"] == "warn");
  CHECK(silent.stalls[1]["cause"] == "HANG-CONNECT");
}

TEST_CASE("a listener's address that nothing answers from is a warning") {
  const auto connected = [](bool in_vain) {
    return said([in_vain] {
      Scene scene;
      Listener listener;
      if (in_vain)
        listener.dial_in_vain();
      else
        listener.dial();
      Comm connect(ConnectionKind::kSend);
      listener.tell(connect);
      scene.pass(6, [&] { connect.poll(); });
    });
  };
  const Said out = connected(true);
  REQUIRE(out.warnings.size() == 1);
  CHECK(out.warnings[0]["kind"] == "tcp");
  CHECK(out.warnings[0]["cause"] == "HANG-CONNECT");
  CHECK(out.warnings[0]["dev"]["name"] == "mlx5_0");
  CHECK(out.warnings[0]["listener"].get<std::string>().starts_with("127.0.0.1:"));
  const Said made = connected(false);
  REQUIRE(made.stalls.size() == 1);
  CHECK(made.stalls[0]["kind"] == "not-accepted");
  CHECK(made.warnings.empty());
}

TEST_CASE("a peer that took the connection up and says no more is a warning where it lasts") {
  const auto at_stage = [](ConnectionKind kind, Stage stage) {
    return said([=] {
      Scene scene;
      Comm comm(kind);
      comm.at->stage = stage;
      scene.pass(16, [&] { comm.poll(); });
    });
  };
  const Said qps = at_stage(ConnectionKind::kSend, Stage::kInit);
  REQUIRE(qps.warnings.size() == 1);
  CHECK(qps.warnings[0]["kind"] == "qps");
  CHECK(qps.warnings[0]["cause"] == "HANG-CONNECT");
  CHECK(qps.warnings[0]["peer"]["gid"] == "::ffff:10.0.0.9");
  const Said ready = at_stage(ConnectionKind::kRecv, Stage::kRts);
  REQUIRE(ready.warnings.size() == 1);
  CHECK(ready.warnings[0]["kind"] == "ready");
}

TEST_CASE("a slow start of many connections, one by one, is no warning") {
  const Said out = said([] {
    Scene scene;
    std::vector<Comm> comms;
    for (int i = 0; i < 40; ++i) comms.emplace_back(ConnectionKind::kSend).at->stage = Stage::kInit;
    int second = 0;
    scene.pass(80, [&] {
      if (++second % 2 == 0) comms[static_cast<std::size_t>(second / 2 - 1)].ready();
      for (Comm& comm : comms) comm.poll();
    });
  });
  CHECK_FALSE(out.stalls.empty());
  CHECK(out.warnings.empty());
}

TEST_CASE("inside ibv_modify_qp: the attempt, and the cause that the first failure had") {
  const auto moving = [](bool failed_before) {
    return said([=] {
      Scene scene;
      Comm connect(ConnectionKind::kSend);
      connect.poll().at->stage = Stage::kInit;
      connect.at->in_call = true;
      connect.at->moving_to = 2;
      connect.at->moving_attempt = 3;
      connect.at->moving_since = nnd::context::raw_clock::now();
      if (failed_before)
        nnd::state::begin_failure({connect.at->about.id, "mlx5_0:1", "10.0.0.9"},
                                  {Cause::kQp110, "No answer.", "Look at the rails."});
      scene.pass(6);
    });
  };
  const Said first = moving(false);
  REQUIRE(first.warnings.size() == 1);
  CHECK(first.warnings[0]["kind"] == "modify-qp");
  CHECK(first.warnings[0]["cause"] == "HANG-CONNECT");
  CHECK(first.warnings[0]["qp"] == json{{"to", "RTR"}, {"attempt", 3}});
  CHECK_FALSE(first.warnings[0].contains("failure"));
  const Said again = moving(true);
  REQUIRE(again.warnings.size() == 1);
  CHECK(again.warnings[0]["cause"] == "QP-110");
  CHECK(again.warnings[0]["failure"] > 0);
  CHECK(again.warnings[0]["fix"] == "Look at the rails.");
}

TEST_CASE("repeated attempts are one story, whether or not one is under way when it is looked at") {
  const Said out = said([] {
    Scene scene;
    Comm connect(ConnectionKind::kSend);
    connect.poll().at->stage = Stage::kInit;
    connect.at->in_call = true;
    connect.at->moving_to = 2;
    unsigned second = 0;
    scene.pass(70, [&] {
      ++second;
      connect.at->moving_attempt = second / 2 + 1;
      connect.at->moving_since = second % 2 == 0 ? nnd::context::raw_clock::now() : 0;
    });
  });
  CHECK(ages(out.stalls) == std::vector{5, 15, 60});
  for (const json& stall : out.stalls) CHECK(stall["kind"] == "modify-qp");
}

TEST_CASE("a call that does not return, and an attempt that NCCL asks for no more") {
  const Said inside = said([] {
    Scene scene;
    Comm connect(ConnectionKind::kSend);
    connect.poll().at->in_call = true;
    scene.pass(7);
  });
  REQUIRE(inside.warnings.size() == 1);
  CHECK(inside.warnings[0]["kind"] == "in-call");
  const Said left = said([] {
    Scene scene;
    Comm connect(ConnectionKind::kSend);
    connect.poll();
    scene.pass(7);
  });
  REQUIRE(left.stalls.size() == 1);
  CHECK(left.stalls[0]["kind"] == "not-polled");
  CHECK(left.warnings.empty());
}

TEST_CASE("a process that was stopped has not waited meanwhile") {
  const Said out = said([] {
    Scene scene;
    Comm connect(ConnectionKind::kSend);
    scene.pass(2, [&] { connect.poll(); });
    scene.now += 1000 * kSec;
    scene.pass(1, [&] { connect.poll(); });
  });
  CHECK(out.stalls.empty());
}

// Each way of waiting for ever, held until it was told: cause, device and peer of what is said,
// that it is told when it moves again, and that the same job without the fault says nothing.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "driver/connect.h"
#include "integration/harness.h"
#include "softverbs/control.h"
#include "support/event_log.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

constexpr int kLongMs = 600'000;  // a task ends by itself, or the test failed before

// A fault is told soon, and NCCL itself waits for long.
const std::map<std::string, std::string> kEager = {{"NCCL_NET_DIAG_STALL_SEC", "0.2"},
                                                   {"NCCL_NET_DIAG_CONNECT_SEC", "0.2"},
                                                   {"NCCL_IB_TIMEOUT", "22"},
                                                   {"NCCL_IB_GID_INDEX", "3"}};

// Two ranks, and what is asked of each while the other one keeps it waiting.
class Stalled {
 public:
  explicit Stalled(const std::string& scenario = two_hosts(),
                   const std::map<std::string, std::string>& environment = kEager)
      : job_(scenario, 2, environment) {
    job_->setup(shim());
  }

  EmulatedJob& job() { return job_; }
  driver::RankProcess& rank(int index) { return job_->rank(index); }

  // Rank 1 listens.
  json listen() {
    const json out = job_->run(1, {{"op", "listen"}, {"context", job_->context(1)}, {"dev", 0}});
    REQUIRE(out["rc"] == 0);
    return out;
  }
  int connect(const json& listener, int deadline_ms = kLongMs) {
    return ask(0, {{"op", "connect"},
                   {"context", job_->context(0)},
                   {"dev", 0},
                   {"handle", listener["handle"]},
                   {"deadline_ms", deadline_ms}});
  }
  int accept(const json& listener) {
    return ask(
        1, {{"op", "accept"}, {"context", job_->context(1)}, {"listener", listener["listener"]}});
  }
  int send(const driver::Link& link, const driver::Traffic& traffic, int tag = 7) {
    json request = transfer("send", link.send_conn, traffic);
    request["tag"] = tag;
    return ask(0, request);
  }
  int receive(const driver::Link& link, const driver::Traffic& traffic) {
    return ask(1, transfer("recv", link.recv_conn, traffic));
  }
  driver::Link open() {
    std::vector<driver::Link> links = {job_->ring(1).front()};
    job_->open(links);
    return links.front();
  }
  void ends_well(int rank, int id) {
    const json reply = this->rank(rank).wait(id);
    INFO(reply.dump());
    CHECK(reply["rc"] == 0);
    CHECK_FALSE(reply.contains("timeout"));
  }

  // The first such event of a rank, as soon as it is in its log.
  json await(int rank, const std::string& event, const std::string& kind,
             const json& more = json::object()) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(4);
    while (std::chrono::steady_clock::now() < until) {
      for (const json& seen : test::only(job_.log(rank), event))
        if (json with = seen; seen["kind"] == kind && (with.update(more), with == seen))
          return seen;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    throw std::runtime_error("rank " + std::to_string(rank) + " never tells " + event + " " + kind);
  }

  // The rank's last word on the network.
  json verdict(int rank) const {
    const auto summaries = test::only(job_.log(rank), "summary");
    REQUIRE(summaries.size() == 1);
    INFO(summaries[0].dump());
    CHECK(summaries[0]["per_port"].at(0)["name"] == "mlx5_0");
    return summaries[0];
  }
  void end() {
    job_->all({{"op", "exit"}});
    for (int index = 0; index < 2; ++index) CHECK(rank(index).wait_exit() == 0);
    job_.check_logs();
  }

 private:
  int ask(int index, json request) {
    if (!request.contains("deadline_ms")) request["deadline_ms"] = kLongMs;
    request["session"] = 0;
    return rank(index).start(std::move(request));
  }
  static json transfer(const char* op, int conn, const driver::Traffic& traffic) {
    json out = traffic.request();
    out["op"] = op;
    out["conn"] = conn;
    return out;
  }

  EmulatedJob job_;
};

driver::Traffic little() {
  driver::Traffic out;
  out.sizes = {65536};
  out.repeat = 16;
  return out;
}

void check_about(const json& event, const char* severity, const char* cause, const char* dir) {
  INFO(event.dump());
  CHECK(event["sev"] == severity);
  CHECK(event["cause"] == cause);
  CHECK(event["dir"] == dir);
  CHECK(event["dev"]["name"] == "mlx5_0");
  CHECK(event["dev"]["port"] == 1);
  CHECK_FALSE(event["fix"].get<std::string>().empty());
}

// A listen comm's handle begins with the address at which it waits.
class Handle {
 public:
  explicit Handle(const std::string& text) {
    driver::from_hex(text, bytes_.data(), bytes_.size());
    REQUIRE(address().sin_family == AF_INET);
  }
  sockaddr_in address() const {
    sockaddr_in out;
    std::memcpy(&out, bytes_.data(), sizeof out);
    return out;
  }
  Handle& set(const sockaddr_in& address) {
    std::memcpy(bytes_.data(), &address, sizeof address);
    return *this;
  }
  std::string text() const { return driver::to_hex(bytes_.data(), bytes_.size()); }

 private:
  std::array<std::byte, nccl_abi::kHandleSize> bytes_;
};

// A listener on the loopback whose queue is full: the kernel answers nobody who dials it.
class Deaf {
 public:
  Deaf() {
    fds_.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    REQUIRE(::bind(fds_[0], reinterpret_cast<sockaddr*>(&address_), size) == 0);
    REQUIRE(::listen(fds_[0], 0) == 0);
    REQUIRE(::getsockname(fds_[0], reinterpret_cast<sockaddr*>(&address_), &size) == 0);
    while (answers()) REQUIRE(fds_.size() < 16);
  }
  ~Deaf() {
    for (const int fd : fds_) ::close(fd);
  }
  Deaf(const Deaf&) = delete;
  Deaf& operator=(const Deaf&) = delete;
  const sockaddr_in& address() const { return address_; }

 private:
  // The loopback answers before connect() returns. Who was answered hangs up and keeps its place.
  bool answers() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    fds_.push_back(fd);
    ::connect(fd, reinterpret_cast<sockaddr*>(&address_), sizeof address_);
    tcp_info info{};
    socklen_t size = sizeof info;
    ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    if (info.tcpi_state == TCP_SYN_SENT) return false;
    ::shutdown(fd, SHUT_WR);
    return true;
  }

  std::vector<int> fds_;
  sockaddr_in address_{};
};

// A TCP connection to the listener of this handle, from somebody who says nothing.
class Stranger {
 public:
  explicit Stranger(const std::string& handle) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in address = Handle(handle).address();
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~Stranger() { ::close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

 private:
  int fd_;
};

}  // namespace

TEST_CASE("a peer that does not accept, and one that does not connect") {
  Stalled pair;
  const json listener = pair.listen();
  const int connect = pair.connect(listener);
  const json waits = pair.await(0, "conn.stall", "not-accepted");
  check_about(waits, "info", "HANG-CONNECT", "send");
  CHECK(waits["peer"]["gid"] == "::ffff:10.0.0.2");
  CHECK(waits["listener"].get<std::string>().starts_with("127.0.0.1:"));

  const json other = pair.listen();
  const int accept = pair.accept(other);
  const json alone = pair.await(1, "conn.stall", "not-dialled");
  check_about(alone, "info", "HANG-CONNECT", "recv");
  CHECK(alone["listener"].get<std::string>().starts_with("127.0.0.1:"));
  CHECK(alone["link"]["proc"] == alone["proc"]);

  const int late_accept = pair.accept(listener);
  const int late_connect = pair.connect(other);
  pair.ends_well(0, connect);
  pair.ends_well(1, late_accept);
  pair.ends_well(1, accept);
  pair.ends_well(0, late_connect);
  const json resumed = pair.await(0, "conn.resume", "not-accepted");
  CHECK(resumed["conn"] == waits["conn"]);
  CHECK(resumed["dur_us"].get<double>() >= waits["age_us"].get<double>());
  pair.await(1, "conn.resume", "not-dialled");
  pair.end();
}

TEST_CASE("somebody who connects and says nothing") {
  Stalled pair;
  const json listener = pair.listen();
  const Stranger stranger(listener["handle"]);
  pair.accept(listener);
  check_about(pair.await(1, "conn.stall", "metadata", {{"sev", "warn"}}), "warn", "HANG-CONNECT",
              "recv");
}

TEST_CASE("an address at which nothing answers") {
  Stalled pair;
  json listener = pair.listen();
  const Deaf deaf;
  listener["handle"] = Handle(listener["handle"]).set(deaf.address()).text();
  pair.connect(listener);
  const json waits = pair.await(0, "conn.stall", "tcp");
  check_about(waits, "warn", "HANG-CONNECT", "send");
  CHECK(waits["listener"] == "127.0.0.1:" + std::to_string(ntohs(deaf.address().sin_port)));
  CHECK(waits["peer"]["gid"] == "::ffff:10.0.0.2");
}

TEST_CASE("a connection that NCCL asks for no more") {
  Stalled pair;
  pair.connect(pair.listen(), 1);
  const json left = pair.await(0, "conn.stall", "not-polled");
  check_about(left, "info", "HANG-CONNECT", "send");
  CHECK(left["peer"]["gid"] == "::ffff:10.0.0.2");
}

TEST_CASE("a verb that does not return") {
  Stalled pair(
      two_hosts("[[fault]]\nkind = \"fail-call\"\nhost = \"node0\"\nverb = \"ibv_create_qp\"\n"
                "delay_ms = 600000\n"));
  const json listener = pair.listen();
  pair.accept(listener);
  pair.connect(listener);
  const json inside = pair.await(0, "conn.stall", "in-call");
  check_about(inside, "warn", "HANG-CONNECT", "send");
  CHECK(inside["peer"]["gid"] == "::ffff:10.0.0.2");
}

TEST_CASE("a peer that took the connection up, and does not say that it is ready") {
  Stalled pair(
      two_hosts("[[fault]]\nkind = \"refuse-rtr\"\nhost = \"node0\"\ndelay_ms = 600000\n"));
  const json listener = pair.listen();
  pair.accept(listener);
  pair.connect(listener);
  const json waits = pair.await(1, "conn.stall", "ready", {{"sev", "warn"}});
  check_about(waits, "warn", "HANG-CONNECT", "recv");
  CHECK(waits["peer"]["gid"] == "::ffff:10.0.0.1");
  const json moving = pair.await(0, "conn.stall", "modify-qp");
  check_about(moving, "warn", "HANG-CONNECT", "send");
  CHECK(moving["qp"] == json{{"to", "RTR"}, {"attempt", 1}});
}

TEST_CASE("a move to RTR that is repeated has its own cause, and the peer waits for QPs") {
  Stalled pair(
      two_hosts("[[fault]]\nkind = \"refuse-rtr\"\nhost = \"node1\"\n"
                "errno = \"ETIMEDOUT\"\ndelay_ms = 500\ntimes = 0\n"));
  const json listener = pair.listen();
  pair.accept(listener);
  pair.connect(listener);
  const json moving = pair.await(1, "conn.stall", "modify-qp", {{"cause", "QP-110"}});
  check_about(moving, "warn", "QP-110", "recv");
  CHECK(moving["qp"]["to"] == "RTR");
  CHECK(moving["peer"]["gid"] == "::ffff:10.0.0.1");
  const auto failed = test::only(pair.job().log(1), "qp.transition");
  CHECK(std::any_of(failed.begin(), failed.end(), [&](const json& event) {
    return event.contains("failure") && event["failure"] == moving["failure"];
  }));
  const json waiting = pair.await(0, "conn.stall", "qps", {{"sev", "warn"}});
  check_about(waiting, "warn", "HANG-CONNECT", "send");
  CHECK(waiting["peer"]["gid"] == "::ffff:10.0.0.2");
}

TEST_CASE("a receive to which nothing comes, and a send for which nobody has a receive") {
  Stalled pair;
  const driver::Link link = pair.open();
  const int receive = pair.receive(link, little());
  const json waits = pair.await(1, "conn.stall", "nothing-came");
  check_about(waits, "info", "HANG-DATA", "recv");
  CHECK(waits["peer"]["gid"] == "::ffff:10.0.0.1");
  CHECK(waits["dev"]["gid"] == "::ffff:10.0.0.2");
  CHECK(waits["in_flight"] == 8);
  int send = pair.send(link, little());
  pair.ends_well(1, receive);
  pair.ends_well(0, send);
  CHECK(pair.await(1, "conn.resume", "nothing-came")["conn"] == waits["conn"]);

  send = pair.send(link, little());
  const json wants = pair.await(0, "conn.stall", "no-receive");
  check_about(wants, "info", "HANG-DATA", "send");
  CHECK(wants["peer"]["gid"] == "::ffff:10.0.0.2");
  const int late = pair.receive(link, little());
  pair.ends_well(0, send);
  pair.ends_well(1, late);
  CHECK(pair.await(0, "conn.resume", "no-receive")["conn"] == wants["conn"]);
  pair.end();
}

TEST_CASE("a send that is never acknowledged is its port's, until the link is back") {
  Stalled pair(
      two_hosts("[[fault]]\nkind = \"link-down\"\nhost = \"node0\"\nafter_messages = 3\n"));
  const driver::Link link = pair.open();
  const int receive = pair.receive(link, little());
  const int send = pair.send(link, little());
  const json stuck = pair.await(0, "conn.stall", "stuck-send", {{"cause", "ASYNC-PORT"}});
  check_about(stuck, "warn", "ASYNC-PORT", "send");
  CHECK(stuck["failure"] == test::only(pair.job().log(0), "port.event").at(0)["failure"]);
  CHECK(stuck["peer"]["gid"] == "::ffff:10.0.0.2");
  CHECK(stuck["msg"].get<std::string>().find("(status 12)") != std::string::npos);
  softverbs::Control(pair.job().fabric().meeting_place()).set_link("node0", "mlx5_0", 1, true);
  pair.ends_well(0, send);
  pair.ends_well(1, receive);
  pair.await(0, "conn.resume", "stuck-send");
  pair.end();
  const json summary = pair.verdict(0);
  CHECK(summary["network"]["verdict"] == "stalled");
  CHECK(summary["network"]["msg"].get<std::string>().find(
            "(stuck-send on mlx5_0:1 towards 10.0.0.2)") != std::string::npos);
  const auto& stalls = summary["stalls"];
  CHECK(std::any_of(stalls.begin(), stalls.end(), [](const json& one) {
    return one["kind"] == "stuck-send" && one["conns"] == 1 && one["device"] == "mlx5_0:1" &&
           one["peer"] == "10.0.0.2";
  }));
  CHECK(pair.verdict(1)["network"]["verdict"] == "healthy");  // it waited for its peer
}

TEST_CASE("a send that waits for the others of its group") {
  Stalled pair;
  const driver::Link link = pair.open();
  driver::Traffic two;
  two.sizes = {65536};
  two.repeat = two.group = 2;
  pair.receive(link, two);
  driver::Traffic one = two;
  one.repeat = one.group = 1;
  const int first = pair.send(link, one, 7);
  const json held = pair.await(0, "conn.stall", "held-back");
  check_about(held, "info", "HANG-DATA", "send");
  CHECK(held["peer"]["gid"] == "::ffff:10.0.0.2");
  CHECK(held["in_flight"] == 1);
  const int second = pair.send(link, one, 8);
  pair.ends_well(0, first);
  pair.ends_well(0, second);
  CHECK(pair.await(0, "conn.resume", "held-back")["conn"] == held["conn"]);
}

TEST_CASE("requests for which NCCL asks no more, at either end") {
  auto environment = kEager;
  environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
  Stalled pair(two_hosts(), environment);
  const driver::Link link = pair.open();
  driver::Traffic given_up = little();
  given_up.asks = false;
  const int receive = pair.receive(link, given_up);
  const json received = pair.await(1, "conn.stall", "not-asked");
  check_about(received, "info", "HANG-DATA", "recv");
  CHECK(received["peer"]["gid"] == "::ffff:10.0.0.1");
  CHECK(received["in_flight"] == 8);
  const int send = pair.send(link, given_up);
  const json sent = pair.await(0, "conn.stall", "not-asked");
  check_about(sent, "info", "HANG-DATA", "send");
  CHECK(sent["peer"]["gid"] == "::ffff:10.0.0.2");
  for (const auto& [rank, id] : {std::pair{1, receive}, {0, send}}) {
    pair.rank(rank).run({{"op", "hurry"}, {"request", id}, {"ms", 0}});
    CHECK(pair.rank(rank).wait(id).value("timeout", false));
  }
}

TEST_CASE("a flush that the HCA does not end") {
  Stalled pair(
      two_hosts("[[fault]]\nkind = \"hold-wr\"\nhost = \"node1\"\nreads = true\n"
                "delay_ms = 600000\n"));
  const driver::Link link = pair.open();
  driver::Traffic flushed = little();
  flushed.flush = true;
  pair.receive(link, flushed);
  pair.send(link, flushed);
  const json stuck = pair.await(1, "conn.stall", "stuck-flush");
  check_about(stuck, "warn", "HANG-DATA", "recv");
  CHECK(stuck["peer"]["gid"] == "::ffff:10.0.0.1");
}

namespace {

// Windows of half a second. Each message takes a millisecond or more, so that the first 4000 of
// them fill the windows with which the later ones are compared.
const std::map<std::string, std::string> kPaced = {{"NCCL_NET_DIAG_STALL_SEC", "0.5"},
                                                   {"NCCL_IB_GID_INDEX", "3"}};
constexpr const char* kJitter = "[[fault]]\nkind = \"hold-wr\"\nhost = \"node0\"\ndelay_ms = 1\n";

driver::Traffic many(std::size_t messages) {
  driver::Traffic out;
  out.sizes = {131072};
  out.repeat = messages;
  return out;
}

}  // namespace

TEST_CASE("a port that becomes slow is told against its own past") {
  Stalled pair(two_hosts("[[fault]]\nkind = \"hold-wr\"\nhost = \"node0\"\nnth = 4000\n"
                         "delay_ms = 20\n" +
                         std::string(kJitter)),
               kPaced);
  const driver::Link link = pair.open();
  pair.receive(link, many(100'000));
  pair.send(link, many(100'000));
  const json slow = pair.await(0, "conn.stall", "slow");
  check_about(slow, "info", "HANG-DATA", "send");
  CHECK(slow["peer"]["gid"] == "::ffff:10.0.0.2");
  CHECK(4 * slow["bytes_per_sec"].get<double>() <= slow["usual_bytes_per_sec"].get<double>());
  CHECK(slow["mean_us"] > slow["usual_us"]);
}

TEST_CASE("a port with jitter whose program sends less, and in bursts, is not slow") {
  Stalled pair(two_hosts(kJitter), kPaced);
  const driver::Link link = pair.open();
  for (const std::size_t messages : {3000u, 40u, 40u, 400u, 40u}) {
    const int receive = pair.receive(link, many(messages));
    const int send = pair.send(link, many(messages));
    pair.ends_well(0, send);
    pair.ends_well(1, receive);
  }
  pair.end();
  for (const json& event : test::only(pair.job().log(0), "conn.stall")) {
    INFO(event.dump());
    CHECK(event["kind"] != "slow");
  }
}

TEST_CASE("the same jobs without a fault say nothing") {
  EmulatedJob job(two_hosts());
  job.run_all(shim(), 2, little());
  job.check_logs();
  for (const auto& event : job.logs()) {
    INFO(event.dump());
    CHECK(event["ev"] != "conn.stall");
    CHECK(event["ev"] != "conn.resume");
    CHECK(event["sev"] == "info");
  }
  for (int rank = 0; rank < 2; ++rank) {
    const json summary = test::only(job.log(rank), "summary").at(0);
    INFO(summary.dump());
    CHECK(summary["network"]["verdict"] == "healthy");
    CHECK(summary["stalls"].empty());
    const json& port = summary["per_port"].at(0);
    CHECK(port["send"]["conns"] == 2);
    CHECK(port["recv"]["conns"] == 2);
    CHECK(port["send"]["bytes"] == 2 * 16 * 65536);
    CHECK(port["slowest"]["mean_us"] > 0);
    CHECK(summary["counters"].at(0)["name"] == "mlx5_0");
  }
}

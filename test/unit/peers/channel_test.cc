// Real processes, real sockets on the loopback interface.
#include "peers/channel.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "peers/message.h"
#include "record/recorder.h"
#include "support/catch.h"

namespace peers = nnd::peers;

namespace {

constexpr nnd::context::Gid kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
constexpr std::uint32_t kAskMs = 400;

struct Door {
  std::uint64_t proc = 0;
  peers::Door door;
};

// What a process is told to do, and what it answers.
struct Order {
  enum class Kind { kConnect, kAwait, kServe } kind = Kind::kServe;
  Door to;
  std::uint32_t listen = 0;
  std::uint32_t ms = 0;
};
struct Word {
  peers::Kind kind = peers::Kind::kNone;
  std::uint64_t proc = 0;
  std::uint64_t behind = 0;  // listener 1
  std::int32_t rank = -1;
};

class Process {
 public:
  explicit Process(int rank) {
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_.data()) != 0)
      throw std::runtime_error("socketpair");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends_[0]);
      live(rank, ends_[1]);
      ::_exit(0);
    }
    ::close(ends_[1]);
    get(door_);
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::close(ends_[0]);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const Door& door() const { return door_; }
  pid_t pid() const { return pid_; }
  void connects(const Process& other, std::uint32_t listen) {
    order({Order::Kind::kConnect, other.door_, listen, 0});
  }
  // Over the listener `listen`, which the other has.
  void waits_for(const Process& other, std::uint32_t listen) {
    order({Order::Kind::kAwait, other.door_, listen, 0});
  }
  void begin_serving(std::uint32_t ms) { send({Order::Kind::kServe, {}, 0, ms}); }
  Word word() {
    Word out;
    get(out);
    return out;
  }

 private:
  void send(const Order& order) {
    if (::send(ends_[0], &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
      throw std::runtime_error("it is gone");
  }
  void order(const Order& order) {
    send(order);
    word();
  }
  template <class T>
  void get(T& value) {
    if (::recv(ends_[0], &value, sizeof value, 0) != sizeof value)
      throw std::runtime_error("it is gone");
  }

  static void live(int rank, int end) {
    peers::Own state;
    state.state.who.proc = nnd::record::proc_id();
    state.state.who.rank = rank;
    state.state.who.pid = static_cast<std::uint32_t>(::getpid());
    state.state.who.host = "here";
    state.state.idle_ms = 5000;
    state.worked = true;
    peers::start({.self = state.state.who, .ask_ms = kAskMs, .directory = "/nonexistent"});
    const auto door = peers::listening(1, kLoopback);
    const Door own{nnd::record::proc_id(), door.value_or(peers::Door{})};
    ::send(end, &own, sizeof own, MSG_NOSIGNAL);
    for (Order order; ::recv(end, &order, sizeof order, 0) == sizeof order;) {
      Word word;
      if (order.kind == Order::Kind::kConnect)
        peers::connecting(order.to.proc, order.listen, kLoopback, order.to.door);
      if (order.kind == Order::Kind::kAwait) {
        state.state.idle_ms = 0;
        state.waits_ms = 9000;
        state.edges.push_back(
            {order.to.proc, 9000, {{true, order.listen, peers::EndState::kAwaitsRoom, 9000}}});
      }
      if (order.kind == Order::Kind::kServe) {
        peers::look(state);
        peers::serve(std::uint64_t{order.ms} * 1'000'000);
      }
      const auto claim = peers::answer().claim;
      word = {claim.kind, claim.who.proc, peers::behind(1), claim.who.rank};
      ::send(end, &word, sizeof word, MSG_NOSIGNAL);
    }
  }

  std::array<int, 2> ends_{-1, -1};
  pid_t pid_ = -1;
  Door door_;
};

// Until all say it, or far too long has passed.
bool all_say(std::vector<Process*> all, const std::function<bool(const Word&)>& right) {
  for (int tries = 0; tries < 100; ++tries) {
    for (Process* const one : all) one->begin_serving(200);
    bool said = true;
    for (Process* const one : all) said = right(one->word()) && said;
    if (said) return true;
  }
  return false;
}

struct Stranger {
  Stranger() : fd(::socket(AF_INET, SOCK_DGRAM, 0)) {}
  ~Stranger() { ::close(fd); }
  void send(const Door& to, const std::vector<std::uint8_t>& datagram) const {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(to.door.port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::sendto(fd, datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&name),
             sizeof name);
  }
  bool hears() const {
    std::array<char, 2048> buffer;
    return ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0;
  }
  int fd;
};

}  // namespace

TEST_CASE("processes find the one that all wait for, and see that it ends") {
  Process late(2), middle(1), first(0);
  middle.connects(late, 1);
  first.connects(middle, 1);
  middle.waits_for(late, 1);
  first.waits_for(middle, 1);
  CHECK(all_say({&late, &middle, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kIdle && said.proc == late.door().proc && said.rank == 2;
  }));
  ::kill(late.pid(), SIGSTOP);
  CHECK(all_say({&middle, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kStopped && said.proc == late.door().proc;
  }));
  ::kill(late.pid(), SIGKILL);
  CHECK(all_say({&middle, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kEnded && said.proc == late.door().proc;
  }));
}

TEST_CASE("a listener learns who has connected to it") {
  Process listener(0), other(1);
  other.connects(listener, 1);
  bool learnt = false;
  for (int tries = 0; !learnt && tries < 100; ++tries) {
    for (auto* const one : {&listener, &other}) one->begin_serving(100);
    learnt = listener.word().behind == other.door().proc;
    other.word();
  }
  CHECK(learnt);
}

TEST_CASE("a stranger gets no answer, whatever it sends, and the channel goes on") {
  Process late(1), first(0);
  first.connects(late, 1);
  first.waits_for(late, 1);
  const auto is_right = [&](const Word& said) {
    return said.kind == peers::Kind::kIdle && said.proc == late.door().proc;
  };
  REQUIRE(all_say({&late, &first}, is_right));
  const Stranger stranger;
  peers::Message ask;
  ask.type = peers::Type::kAsk;
  ask.number = 1000;
  const auto text = peers::encode(ask);
  const std::uint64_t known = first.door().proc;
  for (int i = 0; i < 200; ++i) {
    stranger.send(late.door(), {});
    stranger.send(late.door(), std::vector<std::uint8_t>(1500, 'x'));
    stranger.send(late.door(), peers::seal({peers::KeyKind::kPair, known}, peers::new_key(), text));
    stranger.send(late.door(), peers::seal({peers::KeyKind::kHandle, 77}, peers::new_key(), text));
    // Who has the handle may say hello, and nothing else with it.
    stranger.send(
        late.door(),
        peers::seal({peers::KeyKind::kHandle, 77},
                    peers::key_of_handle(late.door().door.secret, late.door().proc), text));
  }
  CHECK(all_say({&late, &first}, is_right));
  CHECK_FALSE(stranger.hears());
}

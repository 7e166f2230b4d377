// Processes with a channel that do as they are told: real sockets on the loopback interface.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "peers/channel.h"
#include "record/recorder.h"

namespace nnd::test {

inline constexpr context::Gid kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
inline constexpr std::uint32_t kAskMs = 400;

struct Door {
  std::uint64_t proc = 0;
  peers::ChannelEndpoint door;
};

// What a process is told to do, and what it answers.
struct Order {
  enum class Kind { kConnect, kAwait, kServe, kFork } kind = Kind::kServe;
  Door to;
  std::uint32_t listen = 0;
  std::uint32_t ms = 0;
};
struct Word {
  peers::Kind kind = peers::Kind::kNone;
  std::uint64_t proc = 0;
  std::uint64_t behind = 0;  // our listener 1
  std::int32_t rank = -1;
  bool asked = false;
  unsigned met = 0;      // who told what they are
  std::int32_t qps = 0;  // of the last of them
};

class Process {
 public:
  // qps: that it says of itself; 0: it tells nothing, as earlier versions.
  explicit Process(int rank, std::int32_t qps = 0) {
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_.data()) != 0)
      throw std::runtime_error("socketpair");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends_[0]);
      live(rank, qps, ends_[1]);
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
  void connects(const Process& other, std::uint32_t listen) { connects(other.door_, listen); }
  void connects(const Door& door, std::uint32_t listen) {
    order({Order::Kind::kConnect, door, listen, 0});
  }
  // Over the listener `listen`, which the other has.
  void waits_for(const Process& other, std::uint32_t listen) {
    order({Order::Kind::kAwait, other.door_, listen, 0});
  }
  // A data loader, say, which lives until the test drops this.
  void forks() { order({Order::Kind::kFork, {}, 0, 0}); }
  void begin_serving(std::uint32_t ms) { send({Order::Kind::kServe, {}, 0, ms}); }
  Word word() {
    Word out;
    get(out);
    return out;
  }
  Word serves(std::uint32_t ms) {
    begin_serving(ms);
    return word();
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

  static void live(int rank, std::int32_t qps, int end) {
    peers::LocalView state;
    state.state.who.proc = record::proc_id();
    state.state.who.rank = rank;
    state.state.who.pid = static_cast<std::uint32_t>(::getpid());
    state.state.who.host = "here";
    state.state.idle_ms = 5000;
    state.worked = true;
    peers::ProcessFacts facts;
    facts.transport = peers::Transport::kIb;
    facts.qps = qps;
    unsigned met = 0;
    std::int32_t last_qps = 0;
    peers::ChannelSetup start{
        .self = state.state.who, .ask_ms = kAskMs, .directory = "/dev/null/none"};
    if (qps != 0) {
      start.facts = [&]() -> const peers::ProcessFacts& { return facts; };
      start.met = [&](const peers::Who&, const peers::ProcessFacts& theirs) {
        ++met;
        last_qps = theirs.qps;
      };
    }
    peers::start(std::move(start));
    const auto door = peers::listening(2, kLoopback);
    const Door own{record::proc_id(), door.value_or(peers::ChannelEndpoint{})};
    ::send(end, &own, sizeof own, MSG_NOSIGNAL);
    for (Order order; ::recv(end, &order, sizeof order, 0) == sizeof order;) {
      Word word;
      if (order.kind == Order::Kind::kConnect)
        peers::connecting(order.to.proc, order.listen, kLoopback, order.to.door);
      if (order.kind == Order::Kind::kAwait) {
        state.state.idle_ms = 0;
        state.waits_ms = 9000;
        state.edges.push_back(
            {order.to.proc, 9000, {{true, order.listen, peers::EndState::kAwaitsRoom, 9000, {}}}});
      }
      if (order.kind == Order::Kind::kFork && ::fork() == 0) {
        char end_of_test = 0;
        while (::recv(end, &end_of_test, 1, 0) > 0) {
        }
        ::_exit(0);
      }
      if (order.kind == Order::Kind::kServe) {
        peers::look(state);
        peers::serve(std::uint64_t{order.ms} * 1'000'000);
      }
      const auto claim = peers::answer().claim;
      word = {claim.kind,     claim.who.proc, peers::process_connected_to(1),
              claim.who.rank, peers::asked(), met,
              last_qps};
      ::send(end, &word, sizeof word, MSG_NOSIGNAL);
    }
  }

  std::array<int, 2> ends_{-1, -1};
  pid_t pid_ = -1;
  Door door_;
};

// Until all say it, or far too long has passed.
inline bool all_say(std::vector<Process*> all, const std::function<bool(const Word&)>& right) {
  for (int tries = 0; tries < 100; ++tries) {
    for (Process* const one : all) one->begin_serving(200);
    bool said = true;
    for (Process* const one : all) said = right(one->word()) && said;
    if (said) return true;
  }
  return false;
}

// The first waits for the late one, which both say.
struct OneWaits {
  OneWaits() {
    first.connects(late, 1);
    first.waits_for(late, 1);
  }
  bool is_said() {
    return all_say({&late, &first}, [&](const Word& said) {
      return said.kind == peers::Kind::kIdle && said.proc == late.door().proc;
    });
  }

  Process late{1}, first{0};
};

}  // namespace nnd::test

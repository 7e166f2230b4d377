// A job's processes that ask each other, without sockets: messages take a while and may be lost, by
// a seed; a process may be stopped or gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "peers/engine.h"
#include "peers/seal.h"

namespace nnd::test {

class PeersFabric {
 public:
  enum class Alive { kYes, kStopped, kGone, kEnded };

  explicit PeersFabric(std::size_t processes, double loss = 0, std::uint64_t seed = 1)
      : loss_(loss), random_(seed) {
    for (std::size_t i = 0; i < processes; ++i) {
      Process& one = processes_.emplace_back();
      one.own.state.who.proc = proc_of(i);
      one.own.state.who.rank = static_cast<std::int32_t>(i);
      one.own.state.who.pid = static_cast<std::uint32_t>(1000 + i);
      one.own.state.who.host = "node" + std::to_string(i / 8);
      one.own.state.idle_ms = 9000;
      one.own.worked = true;
    }
  }

  static std::uint64_t proc_of(std::size_t i) { return (i + 1) * 0x9E3779B97F4A7C15u; }

  peers::LocalView& own(std::size_t i) { return processes_[i].own; }
  Alive& alive(std::size_t i) { return processes_[i].alive; }

  // Process i waits for j over the connection to the listener `listen` of whoever has it.
  void waits(std::size_t i, std::size_t j, peers::EndState state = peers::EndState::kAwaitsData,
             std::uint32_t age_ms = 9000, bool listener_there = false, std::uint32_t listen = 1) {
    peers::LocalView& own = processes_[i].own;
    own.state.idle_ms = 0;
    own.waits_ms = std::max(own.waits_ms, age_ms);
    own.edges.push_back({proc_of(j), age_ms, {{listener_there, listen, state, age_ms, {}}}});
  }
  void in(std::size_t i, const char* func, std::uint64_t ordinal, std::uint64_t bytes = 4096) {
    peers::Doing doing;
    doing.func = func;
    doing.comm = 0xc0;
    doing.ordinal = ordinal;
    doing.number = static_cast<std::int64_t>(ordinal);
    doing.bytes = bytes;
    processes_[i].own.state.in = doing;
    processes_[i].own.given = {doing};
  }

  // As at the beginning of a job.
  void meet_all() {
    for (Process& one : processes_)
      for (const Process& other : processes_) one.engine.met(other.own.state.who, now_ms_);
  }

  // What process i sends though its engine would not.
  void sends(std::size_t i, std::size_t j, const peers::Message& message) {
    way_.push({now_ms_ * 1000 + 200, i, j, message});
  }

  void run(std::uint64_t ms) {
    for (const std::uint64_t end = now_ms_ + ms; now_ms_ < end; ++now_ms_) {
      if (now_ms_ % 1000 == 0)
        for (Process& one : processes_)
          if (one.alive == Alive::kYes) one.engine.look(one.own, now_ms_);
      for (std::size_t i = 0; i < processes_.size(); ++i)
        if (processes_[i].alive == Alive::kYes && now_ms_ % 100 == i % 100)
          processes_[i].engine.tick(now_ms_);
      for (std::size_t i = 0; i < processes_.size(); ++i) collect(i, now_ms_ * 1000);
      while (!way_.empty() && way_.front().at_us <= now_ms_ * 1000 + 999) {
        const Letter letter = std::move(way_.front());
        way_.pop();
        deliver(letter);
      }
    }
  }

  peers::Claim claim(std::size_t i) { return processes_[i].engine.claim(now_ms_); }
  std::uint64_t now_ms() const { return now_ms_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }  // of datagrams, as they are sealed
  std::uint64_t most_of_one() const {
    std::uint64_t most = 0;
    for (const Process& one : processes_) most = std::max(most, one.sent);
    return most;
  }
  // Runs until all that live say the same; how long that took, or nothing after `most_ms`.
  std::optional<std::uint64_t> until_agreed(peers::Kind kind, std::size_t root,
                                            std::uint64_t most_ms) {
    const std::uint64_t begin = now_ms_;
    while (now_ms_ - begin < most_ms) {
      run(50);
      bool all = true;
      for (std::size_t i = 0; all && i < processes_.size(); ++i) {
        if (processes_[i].alive != Alive::kYes) continue;
        const peers::Claim said = claim(i);
        all = said.kind == kind && said.who.proc == proc_of(root);
      }
      if (all) return now_ms_ - begin;
    }
    return std::nullopt;
  }

 private:
  struct Process {
    peers::LocalView own;
    peers::Engine engine{{}};
    Alive alive = Alive::kYes;
    std::uint64_t sent = 0;
  };
  struct Letter {
    std::uint64_t at_us = 0;
    std::size_t from = 0, to = 0;
    peers::Message message;
  };

  std::size_t index_of(std::uint64_t proc) const {
    return static_cast<std::size_t>(proc * 0xF1DE83E19937733Du) - 1;  // the other's inverse
  }

  void collect(std::size_t i, std::uint64_t now_us) {
    Process& one = processes_[i];
    for (auto& out : one.engine.take_out()) {
      ++messages_;
      ++one.sent;
      if (std::uniform_real_distribution<>(0, 1)(random_) < loss_) continue;
      // As two hosts of a network and the thread's waking up take it.
      way_.push({now_us + 200, i, index_of(out.to), std::move(out.message)});
    }
    for (const std::uint64_t proc : one.engine.take_tries())
      if (processes_[index_of(proc)].alive != Alive::kGone) one.engine.host_answered(proc, now_ms_);
  }

  void deliver(const Letter& letter) {
    Process& to = processes_[letter.to];
    if (to.alive == Alive::kEnded)
      processes_[letter.from].engine.refused(proc_of(letter.to), now_ms_);
    if (to.alive != Alive::kYes) return;
    const auto bytes = peers::encode(letter.message);
    bytes_ += bytes.size() + peers::kSealed;
    const auto message = peers::decode(bytes);
    if (message) to.engine.heard(proc_of(letter.from), *message, now_ms_);
    collect(letter.to, letter.at_us);
  }

  double loss_;
  std::mt19937_64 random_;
  std::vector<Process> processes_;
  std::queue<Letter> way_;
  std::uint64_t now_ms_ = 1'000'000, messages_ = 0, bytes_ = 0;
};

}  // namespace nnd::test

// A process's connections as the watch finds them, played without NCCL and without waiting.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "context/raw_clock.h"
#include "diagnosis/stall.h"
#include "state/connections.h"
#include "state/failure.h"
#include "state/qp_table.h"
#include "support/catch.h"
#include "support/recorded.h"
#include "watch/watch.h"

namespace nnd::watch::test {

using nlohmann::json;
using state::Connection;
using state::ConnectionKind;
using state::RequestKind;
using state::Stage;

inline constexpr std::uint64_t kSec = 1'000'000'000;
inline constexpr Ages kAges{5 * kSec, 10 * kSec};

inline context::Gid gid(std::uint8_t last) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last};
}

// Of a connection: what NCCL and its transport do with it.
class Comm {
 public:
  explicit Comm(ConnectionKind kind, std::uint8_t peer = 9) {
    state::Identity about;
    about.dev = 0;
    about.dir = kind == ConnectionKind::kSend ? state::Direction::kSend : state::Direction::kRecv;
    about.link_proc = 0xabc;
    about.link_listen = 1;
    about.peer_gid = gid(peer);
    at = state::open_connection(kind, 11, about, nullptr);
    REQUIRE(at != nullptr);
    state::ConnectionStart start;
    start.device = "mlx5_0";
    start.port = 1;
    at->start.set(start);
  }
  ~Comm() { close(); }
  Comm(Comm&& other) noexcept
      : at(std::exchange(other.at, nullptr)), one(other.one), flying(std::move(other.flying)) {}
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  Comm& operator=(Comm&&) = delete;

  void close() {
    if (Connection* const open = std::exchange(at, nullptr)) state::release_connection(*open);
  }

  Comm& poll() {
    state::add(at->polls, 1);
    return *this;
  }
  Comm& ready() {
    poll();
    state::hand_out(*at, at);
    return *this;
  }
  // A request: accepted, done.
  Comm& post(RequestKind kind) {
    if (at->free_requests == nullptr) at->extend_pool();
    state::Request* const request = at->free_requests;
    at->free_requests = request->next_free;
    request->kind = kind;
    request->posted = context::raw_clock::now();
    at->count_post(1);
    flying.push_back(request);
    return *this;
  }
  Comm& done() {
    flying.front()->posted = 0;
    flying.front()->next_free = at->free_requests;
    at->free_requests = flying.front();
    flying.erase(flying.begin());
    at->count_done(1, 2, 0);
    return *this;
  }
  Comm& refuse() {
    state::add(at->not_taken, 1);
    return *this;
  }
  // A QP of this many work requests.
  Comm& qp(std::uint64_t sends, std::uint64_t completed, bool flush = false) {
    static std::uint32_t number = 100;
    state::QpInfo info;
    info.conn = at->about;
    state::QpSummary told;
    told.num = ++number;
    told.remote_num = flush ? number : number + 1000;
    told.timeout = 20;
    told.retry_cnt = 7;
    told.gid = gid(1);
    told.remote_gid = gid(flush ? 1 : 9);
    at->qp(at->qps.fetch_add(1)).set(told);
    one = state::qp_table().add(nullptr, nullptr, told.num, info);
    state::add(one->sends, sends);
    state::add(one->completed, completed);
    return *this;
  }

  Connection* at = nullptr;
  state::Qp* one = nullptr;
  std::vector<state::Request*> flying;
};

// A watch, and looks at it a second apart.
class Scene {
 public:
  explicit Scene(Ages ages = kAges) : watch(ages) { watch.look(now); }

  template <class F>
  Scene& pass(int seconds, F&& each) {
    for (int i = 0; i < seconds; ++i) {
      each();
      if (nccl_asks) ask();
      watch.look(now += kSec);
      watch.tell();
    }
    return *this;
  }
  Scene& pass(int seconds) {
    return pass(seconds, [] {});
  }

  std::uint64_t now = 100 * kSec;
  bool nccl_asks = true;  // whether what is in flight is done
  Watch watch;

 private:
  static void ask() {
    for (std::size_t place = 0; place < state::entries_used(); ++place)
      if (Connection* const c = state::entry_at(place); c != nullptr)
        for (std::size_t i = 0; i < c->pool; ++i) c->request(i).note_test(nullptr);
  }
};

// What a scene makes the watch say.
struct Said {
  std::vector<json> stalls, resumes, warnings;
};
template <class F>
Said said(F&& scene) {
  const auto events = nnd::test::recorded(std::forward<F>(scene));
  Said out{nnd::test::only(events, "conn.stall"), nnd::test::only(events, "conn.resume"), {}};
  for (const json& event : events)
    if (event["sev"] != "info") out.warnings.push_back(event);
  return out;
}

// Seconds of each line, rounded.
inline std::vector<int> ages(const std::vector<json>& stalls) {
  std::vector<int> out;
  for (const json& one : stalls)
    out.push_back(static_cast<int>(one["age_us"].get<double>() / 1e6 + 0.5));
  return out;
}

}  // namespace nnd::watch::test

// The sending half of a QP: takes work requests in order, puts them on its connection, completes
// them when they are answered. On the engine's thread or under its Hold.
#pragma once

#include <cstdint>
#include <vector>

#include "softverbs/verbs/engine.h"
#include "softverbs/verbs/stream.h"
#include "softverbs/verbs/wire.h"

namespace softverbs {

class Requester : public Pollable {
 public:
  Requester(Engine& engine, Qp& qp) : engine_(engine), qp_(qp) {}
  ~Requester() override { disconnect(); }
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  void start();  // the QP came to RTS
  void stop();   // it left RTS: forgets everything
  void pump();   // sends what may be sent
  void link_changed();
  void keep_time(Clock::time_point now);
  Clock::time_point next_time() const;  // max(): none
  void flush();                         // the QP is in ERR: completes all that is posted

  void on_ready(std::uint32_t epoll_events) override;

 private:
  struct Failure {
    bool set = false;
    std::uint64_t index = 0;
    int status = 0;
    std::uint32_t vendor_err = 0;
  };

  bool connect();
  void disconnect();
  void lost();
  void set_interest();
  bool prepare(std::uint64_t index);
  bool places(std::uint64_t index, int access, std::vector<iovec>& out) const;
  void hold(int ms);
  void append_request(std::uint64_t index, Request& head, std::vector<iovec>& out) const;
  bool send_batch();
  void advance(std::size_t bytes);
  bool read_responses();
  bool take(const Response& response);
  void acknowledge(std::uint64_t up_to);  // exclusive
  void complete(std::uint64_t index, int status, std::uint32_t vendor_err);
  void fail(std::uint64_t index, int status, std::uint32_t vendor_err);
  void arm_timeout();
  std::uint64_t posted() const { return qp_.sq.posted.load(std::memory_order_acquire); }

  Engine& engine_;
  Qp& qp_;
  int fd_ = -1;
  std::uint64_t watch_ = 0;
  bool welcome_ = false;
  bool blocked_ = false;        // the socket is full
  std::uint64_t base_ = 0;      // queue index of sequence 0 on this connection
  std::uint64_t acked_ = 0;     // queue indexes: all below are complete
  std::uint64_t prepared_ = 0;  // all below were checked and counted
  std::uint64_t sent_ = 0;      // all below are on the wire
  std::uint64_t released_ = 0;  // all below have met the scenario's faults
  std::size_t sent_bytes_ = 0;  // of the one that is being sent
  int reads_in_flight_ = 0;
  Failure failure_;  // of a request whose predecessors are not yet answered
  StreamReader reader_;
  std::uint64_t read_index_ = 0;  // whose data is coming in
  bool reading_ = false;
  Clock::time_point give_up_ = Clock::time_point::max();
  Clock::time_point rnr_give_up_ = Clock::time_point::max();
  Clock::time_point reconnect_ = Clock::time_point::max();
  Clock::time_point held_until_ = Clock::time_point::max();
  int attempts_ = 0;
};

}  // namespace softverbs

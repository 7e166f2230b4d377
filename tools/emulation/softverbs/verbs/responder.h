// The receiving half of a connection: carries out a peer's requests on this process's memory and
// answers them. Belongs to the engine; knows its QP once the hello has been read and the QP is
// ready.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "softverbs/verbs/engine.h"
#include "softverbs/verbs/stream.h"
#include "softverbs/verbs/wire.h"

namespace softverbs {

class Responder : public Pollable {
 public:
  Responder(Engine& engine, int fd);
  ~Responder() override;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  std::uint32_t wanted_qp() const { return hello_.to_qp; }
  bool try_attach();  // to its QP, if that is ready for it
  void link_changed() { proceed(); }
  void detach();   // from its QP and from the engine's epoll set
  void proceed();  // there may be a receive request now, or the link may be back
  void on_ready(std::uint32_t epoll_events) override;

 private:
  struct Outgoing {
    Response head;
    std::uint32_t rkey = 0;  // kData of a read: where from
    std::uint64_t remote_addr = 0;
    std::uint64_t value = 0;  // kData of an atomic
    bool from_memory = false;
    std::size_t sent = 0;  // bytes of head and payload
  };

  bool halted() const;
  bool read_some();  // false: closed, and this is gone
  bool begin(const Request& request);
  bool begin_receive(std::uint32_t length, std::vector<iovec>& places);
  void finish();
  void refuse(int status, int event);
  void answer_atomic();
  void acknowledge();
  bool send_answers();
  void set_interest();
  char* memory(std::uint32_t rkey, std::uint64_t address, std::uint64_t length, int access) const;
  void complete_receive(int status, std::uint32_t bytes);

  Engine& engine_;
  int fd_;
  std::uint64_t watch_ = 0;
  Hello hello_;
  bool greeted_ = false;
  Qp* qp_ = nullptr;
  StreamReader reader_;
  bool in_request_ = false;
  Request request_;
  bool needs_receive_ = false;  // the head waits for a receive request
  bool told_not_ready_ = false;
  bool has_receive_ = false;
  std::uint64_t receive_index_ = 0;
  bool ack_due_ = false;
  std::uint64_t done_ = 0;  // sequences below are carried out
  bool refused_ = false;
  bool blocked_ = false;
  std::deque<Outgoing> answers_;
};

}  // namespace softverbs

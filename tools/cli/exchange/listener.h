// How the processes of one run on several hosts find each other: one listens, the others call it,
// and both prove that they know the run's token before anything else is said.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "cli/common/tcp.h"
#include "cli/exchange/seal.h"
#include "wire/json_socket.h"

namespace nnd::cli {

using wire::Clock;

inline Clock::time_point in_seconds(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Who meets, and how an error of it is told.
struct Meeting {
  std::string service;  // "ping": the greeting's
  std::string token;
  const char* error_kind;  // CallError's, for an address that is none or where nobody is
  std::string hint;        // what to do when nobody was reached; empty: nothing to say
};

// Tries until the listener is there and both have proven that they know the token. Throws CallError
// at the deadline, when `stop` is true, and at once when the listener refuses ("refused").
wire::JsonSocket call_listener(const TcpAddress& address, const Meeting& meeting,
                               const nlohmann::json& about, Clock::time_point deadline,
                               const std::function<bool()>& stop);

// Where callers come in. Those that have not proven anything yet have few places, of which one
// address gets half at most, and little time; a new one takes the place of the oldest silent one,
// so that nobody can keep others out by saying nothing.
class Listener {
 public:
  // Listens where listen_on (tcp.h) does, or on all addresses where the name is empty. port "0":
  // any. Throws CallError.
  Listener(const TcpAddress& address, Meeting meeting);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string port() const;

  struct Caller {
    wire::JsonSocket socket;
    nlohmann::json about;
    std::string address;
  };
  // Lets callers in, those that know the token. To be called several times a second. `refused` is
  // told of others, in one sentence each: of what is the same once, and of no more than thirty.
  std::optional<Caller> attend(const std::function<void(const std::string&)>& refused);

  // Connections that have not proven anything yet.
  std::size_t pending() const { return pending_.size(); }

 private:
  struct PendingPeer {
    wire::LineSocket socket;
    std::string address;
    Handshake handshake;
    Clock::time_point since;
    bool silent = true;
  };
  using Refused = std::function<void(const std::string&)>;

  bool let_one_in(const Refused& refused);
  bool make_room(const std::string* address, const Refused& refused);
  bool hear(PendingPeer& peer);
  void tell(const Refused& refused, const std::string& sentence);

  int fd_ = -1;
  Meeting meeting_;
  std::list<PendingPeer> pending_;  // in the order in which they came
  std::set<std::string> told_;
};

}  // namespace nnd::cli

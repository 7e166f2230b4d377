// Two processes with a connection between them tell each other once what they are (peers/facts.h).
// When that is due, and when it is known to have come. No I/O and no clock of its own. One thread.
#pragma once

#include <cstdint>

#include "peers/bucket.h"

namespace nnd::peers {

// Of one peer.
struct Introduced {
  std::uint64_t since_ms = 0;  // sent last, or could be first; 0: never
  std::uint8_t sent = 0;
  bool heard = false;  // of it
  bool known = false;  // it has ours
};

class Introductions {
 public:
  // Whether ours is to be sent now without having been asked for; `first`: this process begins,
  // and the other only where nothing comes.
  bool due(Introduced& peer, bool first, std::uint64_t now_ms);

  struct Next {
    bool is_new = false;  // what it says of itself had not come before
    bool answer = false;  // ours is to be sent
  };
  Next take(Introduced& peer, bool has_ours, bool wants_word, std::uint64_t now_ms);

 private:
  bool may_send(Introduced& peer, unsigned most, std::uint64_t now_ms);

  Bucket out_{200};  // a second: there is time, and other messages must not wait
};

}  // namespace nnd::peers

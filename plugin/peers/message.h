// What processes of a job say to each other, and the bytes of it. Pure; no bytes are trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "peers/arrivals.h"
#include "peers/claim.h"
#include "peers/facts.h"

namespace nnd::peers {

// One end of a connection between the two that talk.
enum class EndState : std::uint8_t {
  kQuiet,       // nothing is wanted of it, or it moves
  kAwaitsData,  // a receive is posted
  kAwaitsRoom,  // something to send, and the other end has posted no receive
  kStuck,       // handed to the HCA, which does not complete it
  kOwn,         // it waits for something of its own process
  kBeingMade,
  kUnknown,  // it is not among those that this process has, or has just moved
  kCount
};
// Requests that are over and their bytes, modulo 2^32.
struct Moved {
  bool known = false;
  std::uint32_t requests = 0, bytes = 0;
};
struct Link {
  bool yours = false;        // the receiver of the message has the listener
  std::uint32_t listen = 0;  // its number there
  EndState state = EndState::kQuiet;
  std::uint32_t age_ms = 0;  // of this state
  Moved moved;               // sent, or come

  bool same(bool listener_here, std::uint32_t number) const noexcept {
    return yours != listener_here && listen == number;
  }
};

inline constexpr std::uint8_t kNever = 255;

// What a process says of itself.
struct State {
  Who who;
  bool moves = false;         // something completes, or it works on something else
  bool failed = false;        // something in it has
  std::uint32_t idle_ms = 0;  // it waits for nobody; 0: it does
  std::uint64_t awaits = 0;   // "proc" of whom it waits for longest; 0: nobody, or not known
  Doing given;                // the last that it was given
  Doing in;                   // the oldest that is not over
  // Its last request, and its last receive, by CLOCK_MONOTONIC: of its own node's processes they
  // can be compared. 0: none, or not told.
  std::uint64_t posted_ns = 0, posted_receive_ns = 0;
  // Ago it was seen that it waits, over any number of others, for one that neither waits nor rests.
  std::uint8_t elsewhere = kNever;  // tenths of a second
};

enum class Type : std::uint8_t { kHello = 1, kWelcome, kAsk, kSay, kProbe, kFacts, kArrivals };

inline constexpr std::size_t kLinksAtOnce = 64;
inline constexpr std::size_t kLinksAsked = 3;
inline constexpr std::size_t kPairKey = 32;

// "I have your handle": under the key that the handle tells of. The rest of what the two say is
// under the key that it brings.
struct Hello {
  std::array<std::uint8_t, kPairKey> key{};
  Who who;
  std::vector<std::uint32_t> links;  // numbers of the receiver's listeners that it connected to
};
struct Welcome {
  Who who;
  std::uint32_t links = 0;  // of the sender's hellos that have come, all together
};
struct Ask {
  State state;
  std::vector<Link> links;  // over which it waits for the receiver, the longest first
};
struct Say {
  State state;
  std::vector<Link> links;  // the same as this end sees them
  Claim claim;
};
// Goes from a process to the one that it waits for longest, until somebody has seen it twice.
struct Probe {
  std::uint64_t initiator = 0;
  std::uint32_t round = 0;
  std::uint16_t hops = 0;
  bool all_alone = true;    // each on its node
  Who least_who, most_who;  // of those that it has passed, in one communicator
  Doing least, most;
};

// What the sender is, to one with which it has a connection.
struct Introduction {
  Who who;
  bool have_yours = false;
  bool wants_word = false;  // it doesn't know yet that this one has come before
  ProcessFacts facts;
};

struct Message {
  Type type = Type::kAsk;
  std::uint64_t number = 0;  // counts the sender's messages
  Hello hello;
  Welcome welcome;
  Ask ask;
  Say say;
  Probe probe;
  Introduction introduction;
  Arrived arrived;
};

inline constexpr std::size_t kLargestMessage = 512;  // bytes, before it is sealed
using Bytes = std::vector<std::uint8_t>;

Bytes encode(const Message& message);
// Nothing for bytes that are no message.
std::optional<Message> decode(std::span<const std::uint8_t> bytes);

}  // namespace nnd::peers

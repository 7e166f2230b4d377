// The processes that this one can write to: where they are, with which key, what of theirs has
// come, and to whom its connections lead. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "context/gid.h"
#include "peers/bucket.h"
#include "peers/introductions.h"
#include "peers/message.h"
#include "peers/seal.h"

namespace nnd::peers {

struct Address {
  context::Gid ip{};  // IPv4 as ::ffff:a.b.c.d
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;
  bool operator<(const Address& other) const {
    return std::tie(ip, port) < std::tie(other.ip, other.port);
  }
};

// Numbers of messages: each is taken once, and none that is much older than the newest.
class Window {
 public:
  bool take(std::uint64_t number) noexcept;

 private:
  std::uint64_t newest_ = 0;
  std::uint64_t seen_ = 0;  // bit i: newest_ - i
};

struct Contact {
  Address address;
  // Of a process whose handle we have; else all zero, and it has written first.
  Secret secret{};
  bool has_handle = false;
  bool pinned = false;    // its handle told where it is before anything came
  Key key{};              // the pair's
  bool key_ours = false;  // we made it
  bool agreed = false;    // the other end has used it
  Window window;
  // A second. A healthy one sends twenty at most: a mad one leaves time for the others.
  Bucket datagrams{2000};  // of its address
  Bucket messages{100};    // of those that are its own
  std::uint64_t sent = 0;  // messages
  // Of its listeners that we connected to; how many it has confirmed.
  std::vector<std::uint32_t> links;
  std::uint32_t confirmed = 0;
  bool wanted = false;            // it is to answer though no connection leads there
  std::uint64_t hello_ms = 0;     // sent last; 0: never
  unsigned hellos = 0;            // unanswered
  std::uint32_t links_heard = 0;  // of its hellos, all together
  Introduced introduced;

  bool has_connection() const noexcept { return !links.empty() || links_heard != 0; }
};

class Directory {
 public:
  // A process of a job that never has so many is not harmed by the rest's being forgotten. Of those
  // whose handle we have, and as many again that have ours.
  static constexpr std::size_t kMost = 16384;

  // By a handle that NCCL gave us. Null: there is no room.
  Contact* add(std::uint64_t proc, const Address& address, const Secret& secret);
  // Null: it isn't known.
  Contact* find(std::uint64_t proc);
  // Those that are there, at port 0 at any: several at one where somebody lies.
  std::vector<std::uint64_t> at(const Address& address) const;

  // A hello that its key has opened; this process has made the listeners up to that number. Null:
  // it is not to be believed. Whom we don't know has to be behind one that nobody else is behind,
  // so that who has a handle pretends no more processes than there are listeners.
  Contact* take_hello(std::uint64_t self, std::uint64_t from, const Address& address,
                      const Hello& hello, std::uint32_t newest_listen);
  // A new message of it has come from there.
  void came_from(std::uint64_t proc, Contact& contact, const Address& address);

  // Who has connected to this listener of ours; 0: nobody that said so.
  std::uint64_t process_connected_to(std::uint32_t listen) const;

  template <class F>
  void for_each(F&& f) {
    for (auto& [proc, contact] : contacts_) f(proc, contact);
  }
  void forget();

 private:
  bool is_free(std::uint32_t listen, std::uint32_t newest) const;

  std::map<std::uint64_t, Contact> contacts_;
  std::size_t handles_ = 0;  // contacts that have one
  std::set<std::pair<Address, std::uint64_t>> by_address_;
  std::map<std::uint32_t, std::uint64_t> by_listen_;
};

}  // namespace nnd::peers

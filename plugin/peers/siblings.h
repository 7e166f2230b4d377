// The processes of this user and host that have a channel, of whatever job: a file in the place
// that they share, in which each living one holds the lock of its line. Ranks of a node wait for
// each other without a connection, so that no handle tells of them. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "peers/directory.h"

namespace nnd::peers {

struct Sibling {
  std::uint64_t proc = 0;
  Address address;
  Secret secret{};
  std::uint64_t job = 0;     // a number of its launcher's job; 0: not known
  std::uint32_t parent = 0;  // who started it, by pid
};

class Siblings {
 public:
  static constexpr std::size_t kMost = 512;

  Siblings() = default;
  ~Siblings() { forget(); }
  Siblings(const Siblings&) = delete;
  Siblings& operator=(const Siblings&) = delete;

  // Once. Where the file can't be had, or is full, nobody of this node finds this process.
  void enter(const Sibling& self, const std::string& directory);
  // The others that live now.
  std::vector<Sibling> others() const;
  void forget() noexcept;

 private:
  int fd_ = -1;
  bool tried_ = false;
  std::uint64_t self_ = 0;
};

}  // namespace nnd::peers

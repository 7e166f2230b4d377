// What a process holds.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace nnd::soak {

struct Resources {
  std::size_t memory_kib = 0;  // private, written: what it allocated and not gave back
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t mappings = 0;

  // But for malloc's arenas.
  bool holds_no_more_than(const Resources& before) const;
};

// A row of each, for people.
std::string table(std::size_t rank, const Resources& before, const Resources& after);

// Both throw where the process is gone. The emulated fabric closes its sockets on threads of its
// own, some time after NCCL has closed the connection: what counts is what is left in the end.
Resources least_of(pid_t process);  // of a second
// As soon as it is no more than before; else what it is after half a minute.
Resources settled(pid_t process, const Resources& before);

// What a process has read and written since it began, and its time on processors.
struct Io {
  double reads = 0, writes = 0;  // system calls; of sockets only read() and write() count
  double bytes_read = 0, bytes_written = 0;
  double cpu = 0;  // seconds
};
Io operator+(const Io& a, const Io& b);
Io operator-(const Io& a, const Io& b);
Io operator/(const Io& a, double by);

// Throws where the process is gone.
Io io_of(pid_t process);

}  // namespace nnd::soak

// Where processes find each other: sockets in the fabric's directory, one per process, named by
// host and by the block of QP numbers that the process has for itself on that host.
#pragma once

#include <cstdint>
#include <string>

namespace softverbs {

class Rendezvous {
 public:
  // Claims a block and listens. dir is created. Throws std::system_error.
  Rendezvous(const std::string& dir, const std::string& host);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int listen_fd() const { return listen_; }
  std::uint32_t first_qp() const { return block_ << kBits; }
  static constexpr std::uint32_t kBits = 14;  // QPs of one process at a time: 16,384

  // A connecting socket (non-blocking) to the process that has this QP number on that host, or -1
  // and errno: nobody there.
  int connect_to(const std::string& host, std::uint32_t qp) const;
  void close_all();    // in a forked child: the sockets are the parent's
  void remove_name();  // at exit

 private:
  std::string socket_path(const std::string& host, std::uint32_t block) const;
  bool claim(std::uint32_t block);

  std::string dir_;
  std::string host_;
  int dir_fd_ = -1;
  int listen_ = -1;
  std::uint32_t block_ = 0;
};

}  // namespace softverbs

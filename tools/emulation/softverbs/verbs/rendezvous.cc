#include "softverbs/verbs/rendezvous.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace softverbs {

namespace {

constexpr std::uint32_t kBlocks = 1U << (24 - Rendezvous::kBits);  // 24 bits of QP number
constexpr int kBacklog = 4096;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  return address;
}

int unix_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

int connect_path(const std::string& path) {
  const int fd = unix_socket();
  if (fd < 0) return -1;
  const sockaddr_un address = address_of(path);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace

Rendezvous::Rendezvous(const std::string& dir, const std::string& host) : dir_(dir), host_(host) {
  std::filesystem::create_directories(dir);
  dir_fd_ = ::open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd_ < 0) throw std::system_error(errno, std::generic_category(), dir);
  listen_ = unix_socket();
  // One process at a time: a name that is bound and not listened on yet looks like one that was
  // left behind.
  const int lock = ::open((dir + "/.claims").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || ::flock(lock, LOCK_EX) != 0)
    throw std::system_error(errno, std::generic_category(), dir);
  std::uint32_t start = 0;
  if (::getrandom(&start, sizeof start, 0) < 0) start = static_cast<std::uint32_t>(::getpid());
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    const std::uint32_t block = (start + i) % (kBlocks - 1) + 1;  // QPs 0 and 1 are special
    if (!claim(block)) continue;
    block_ = block;
    break;
  }
  const bool listening = block_ != 0 && ::listen(listen_, kBacklog) == 0;
  ::close(lock);
  if (!listening)
    throw std::system_error(errno, std::generic_category(), "no free socket name in " + dir);
}

Rendezvous::~Rendezvous() {
  close_all();
  remove_name();
}

// The directory may lie deeper than a socket's path may be long: by its descriptor it is always
// short.
std::string Rendezvous::socket_path(const std::string& host, std::uint32_t block) const {
  char name[16];
  std::snprintf(name, sizeof name, ".%03x", block);
  return "/proc/self/fd/" + std::to_string(dir_fd_) + "/" + host + name;
}

bool Rendezvous::claim(std::uint32_t block) {
  const std::string path = socket_path(host_, block);
  const sockaddr_un address = address_of(path);
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(listen_, plain, sizeof address) == 0) return true;
  if (errno != EADDRINUSE) return false;
  const int other = connect_path(path);
  if (other >= 0) {
    ::close(other);
    return false;
  }
  if (errno != ECONNREFUSED) return false;
  ::unlink(path.c_str());  // left behind by a process that was killed
  return ::bind(listen_, plain, sizeof address) == 0;
}

int Rendezvous::connect_to(const std::string& host, std::uint32_t qp) const {
  return connect_path(socket_path(host, qp >> kBits));
}

void Rendezvous::remove_name() {
  if (block_ == 0) return;
  char name[16];
  std::snprintf(name, sizeof name, ".%03x", block_);
  ::unlink((dir_ + "/" + host_ + name).c_str());
  block_ = 0;
}

void Rendezvous::close_all() {
  if (listen_ >= 0) ::close(listen_);
  if (dir_fd_ >= 0) ::close(dir_fd_);
  listen_ = dir_fd_ = -1;
}

}  // namespace softverbs

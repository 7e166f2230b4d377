#include "slow_disk.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/own_mounts.h"

namespace nnd::soak {

namespace {

namespace fs = std::filesystem;

dev_t device_of(const fs::path& place) {
  struct stat about {};
  return ::stat(place.c_str(), &about) == 0 ? about.st_dev : 0;
}

pid_t serve(const fs::path& from, const fs::path& to) {
  const pid_t server = ::fork();
  if (server != 0) return server;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execlp("bindfs", "bindfs", "-f", "--no-allow-other", from.c_str(), to.c_str(), nullptr);
  ::_exit(127);
}

}  // namespace

std::string no_slow_disk() {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return "no /dev/fuse here";
  if (std::system("bindfs --version >/dev/null 2>&1") != 0) return "no bindfs here";
  return "";
}

SlowDisk::SlowDisk(fs::path place, const std::string& size)
    : place_(std::move(place)), store_(place_.string() + ".store") {
  fs::create_directory(store_);
  if (!test::mount_tmpfs(store_, size)) throw std::runtime_error("no tmpfs");
  const dev_t before = device_of(place_);
  server_ = serve(store_, place_);
  for (int i = 0; i < 3000 && device_of(place_) == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (device_of(place_) == before) throw std::runtime_error("bindfs doesn't mount");
}

SlowDisk::~SlowDisk() {
  ::kill(server_, SIGKILL);  // whoever waits for it gets an error
  ::waitpid(server_, nullptr, 0);
  ::umount2(place_.c_str(), MNT_DETACH);
  ::umount2(store_.c_str(), MNT_DETACH);
}

void SlowDisk::hang() {
  ::kill(server_, SIGSTOP);
  ::waitpid(server_, nullptr, WUNTRACED);
}

void SlowDisk::go_on() { ::kill(server_, SIGCONT); }

void SlowDisk::fill() {
  std::ofstream ballast(store_ / "ballast", std::ios::binary);
  const std::string block(4096, 'b');
  while (ballast.write(block.data(), 4096).flush()) {
  }
}

void SlowDisk::make_room() { fs::remove(store_ / "ballast"); }

}  // namespace nnd::soak

#include "facts/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace nnd::facts {

namespace {

constexpr std::uint32_t kMost = 1 << 16;  // statistics; mlx5 has some thousands

// One command to one driver; the answer is written behind the command's struct.
class Driver {
 public:
  explicit Driver(const std::string& netdev)
      : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    netdev.copy(request_.ifr_name, sizeof request_.ifr_name - 1);
  }
  ~Driver() {
    if (fd_ >= 0) ::close(fd_);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  bool ask(void* command) {
    request_.ifr_data = static_cast<char*>(command);
    return fd_ >= 0 && ::ioctl(fd_, SIOCETHTOOL, &request_) == 0;
  }

 private:
  int fd_;
  ifreq request_{};
};

// A command's struct, and room behind it.
template <typename Command>
std::vector<char> with_room(Command command, std::size_t room) {
  std::vector<char> out(sizeof command + room);
  std::memcpy(out.data(), &command, sizeof command);
  return out;
}

std::uint32_t count_of(Driver& driver) {
  ethtool_sset_info which{};
  which.cmd = ETHTOOL_GSSET_INFO;
  which.sset_mask = 1ULL << ETH_SS_STATS;
  auto asked = with_room(which, sizeof(std::uint32_t));
  if (!driver.ask(asked.data())) return 0;
  std::memcpy(&which, asked.data(), sizeof which);
  std::uint32_t count = 0;  // the kernel clears the bit of a set that isn't there
  if (which.sset_mask != 0) std::memcpy(&count, asked.data() + sizeof which, sizeof count);
  return count <= kMost ? count : 0;
}

}  // namespace

bool counts_pauses(std::string_view name) noexcept {
  for (const std::string_view part : {"pause", "pfc", "xoff"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

std::vector<std::pair<std::string, long>> read_statistics(const std::string& netdev) {
  Driver driver(netdev);
  const std::uint32_t count = count_of(driver);
  ethtool_gstrings names{};
  names.cmd = ETHTOOL_GSTRINGS;
  names.string_set = ETH_SS_STATS;
  names.len = count;
  ethtool_stats values{};
  values.cmd = ETHTOOL_GSTATS;
  values.n_stats = count;
  // A driver writes as many as it has by then, which may be more: there is room for twice as many.
  auto texts = with_room(names, std::size_t{2} * count * ETH_GSTRING_LEN);
  auto numbers = with_room(values, std::size_t{2} * count * sizeof(std::uint64_t));
  if (count == 0 || !driver.ask(texts.data()) || !driver.ask(numbers.data())) return {};
  std::memcpy(&names, texts.data(), sizeof names);
  std::memcpy(&values, numbers.data(), sizeof values);
  if (names.len != count || values.n_stats != count) return {};  // it changed meanwhile
  std::vector<std::pair<std::string, long>> out;
  for (std::size_t i = 0; i < count; ++i) {
    const char* const text = texts.data() + sizeof names + i * ETH_GSTRING_LEN;
    std::uint64_t value = 0;
    std::memcpy(&value, numbers.data() + sizeof values + i * sizeof value, sizeof value);
    out.emplace_back(std::string(text, ::strnlen(text, ETH_GSTRING_LEN)), static_cast<long>(value));
  }
  return out;
}

}  // namespace nnd::facts

#include "record/memory_room.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace nnd::record {

namespace {

// The names differ between the two generations of cgroups.
struct Generation {
  const char* mount;
  const char* limit;
  const char* usage;
  std::string_view file_cache;  // line of memory.stat
};
constexpr Generation kSecond = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
constexpr Generation kFirst = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file "};

// The beginning of a file of /proc or /sys; empty when it can't be read.
std::string text_of(const std::string& path) {
  std::string text(8192, '\0');
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : ::read(fd, text.data(), text.size());
  if (fd >= 0) ::close(fd);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

// Takes the first line off a text.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return {};  // "max" is none
  return value;
}

std::uint64_t file_cache(const std::string& path, std::string_view name) {
  const std::string text = text_of(path);
  for (std::string_view rest = text; !rest.empty();)
    if (const std::string_view line = next_line(rest); line.starts_with(name))
      return number(line.substr(name.size())).value_or(0);
  return 0;
}

std::uint64_t room_of(const std::string& dir, const Generation& names) {
  const auto limit = number(text_of(dir + "/" + names.limit));
  const auto usage = number(text_of(dir + "/" + names.usage));
  if (!limit || !usage) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t cache = std::min(file_cache(dir + "/memory.stat", names.file_cache), *usage);
  const std::uint64_t used = *usage - cache;
  return *limit > used ? *limit - used : 0;
}

}  // namespace

std::uint64_t cgroup_room(const std::string& root) {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  const std::string groups = text_of(root + "/proc/self/cgroup");
  for (std::string_view rest = groups; !rest.empty();) {
    const std::string_view line = next_line(rest);
    // "0::/path" of the second generation, "4:cpu,memory:/path" of the first.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first, second - first + 1);  // ":a,b:"
    const bool unified = controllers == "::";
    const std::size_t memory = controllers.find("memory");
    if (!unified && (memory == controllers.npos ||
                     std::isalnum(static_cast<unsigned char>(controllers[memory + 6])) != 0))
      continue;
    const Generation& names = unified ? kSecond : kFirst;
    const std::string mount = std::string(root).append(names.mount);
    // In a container the path may be that of the host: its upper parts are looked at as well.
    for (std::string path(line.substr(second + 1));; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      room = std::min(room, room_of(mount + path, names));
      if (path.find('/') == path.npos) break;
    }
  }
  return room;
}

bool in_memory_file(int fd) noexcept {
  struct statfs s {};
  if (::fstatfs(fd, &s) != 0) return false;
  const auto type = static_cast<std::uint64_t>(s.f_type) & 0xFFFFFFFFu;
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

}  // namespace nnd::record

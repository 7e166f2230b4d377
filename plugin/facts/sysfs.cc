#include "facts/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <memory>

namespace nnd::facts {

namespace {

constexpr int kMaxLinks = 40;
constexpr std::size_t kMaxEntries = 4096;

// The components still to walk, last one first.
void push_components(std::vector<std::string>& todo, std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  todo.insert(todo.end(), parts.rbegin(), parts.rend());
}

// Where the kernel finds a path: three calls instead of one for each component and link.
std::optional<std::string> found_by_kernel(const std::string& path) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::array<char, PATH_MAX> target;
  const ssize_t length =
      readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target.data(), target.size());
  close(fd);
  if (length <= 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(length));
}

}  // namespace

std::string FileTree::absolute(std::string_view path) const {
  std::string full = root_;
  full += '/';
  full += path;
  return full;
}

FileText FileTree::read(std::string_view path, std::size_t limit) const {
  FileText out;
  const int fd = open(absolute(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    out.error = errno;
    return out;
  }
  std::array<char, 4096> buffer;
  while (out.text.size() < limit) {
    const ssize_t got = ::read(fd, buffer.data(), std::min(buffer.size(), limit - out.text.size()));
    if (got < 0) {
      if (errno == EINTR) continue;
      out.error = errno;
      out.text.clear();
    }
    if (got <= 0) break;
    out.text.append(buffer.data(), static_cast<std::size_t>(got));
    // These files are given out whole: a short answer is the end, and one call is saved.
    if (static_cast<std::size_t>(got) < buffer.size()) break;
  }
  close(fd);
  while (!out.text.empty() && (out.text.back() == '\n' || out.text.back() == '\0'))
    out.text.pop_back();
  return out;
}

std::optional<long> FileTree::read_number(std::string_view path) const {
  const FileText file = read(path, 64);
  long value = 0;
  const char* end = file.text.data() + file.text.size();
  if (!file.ok() || std::from_chars(file.text.data(), end, value).ec != std::errc())
    return std::nullopt;
  return value;
}

bool FileTree::exists(std::string_view path) const {
  return access(absolute(path).c_str(), F_OK) == 0;
}

std::vector<std::string> FileTree::list(std::string_view path) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(absolute(path).c_str()), closedir);
  if (!dir) return names;
  while (const dirent* entry = readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxEntries) break;
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> FileTree::resolve(std::string_view path) const {
  // Where that leads out of the tree, a link in it is absolute, or the root is itself a link.
  if (const auto found = found_by_kernel(absolute(path)); found && found->starts_with(root_ + '/'))
    return found->substr(root_.size() + 1);
  std::vector<std::string> todo;
  std::vector<std::string> done;
  push_components(todo, path);
  const auto joined = [&done] {
    std::string out;
    for (const auto& part : done) out += (out.empty() ? "" : "/") + part;
    return out;
  };
  std::array<char, PATH_MAX> target;
  int links = 0;
  while (!todo.empty()) {
    const std::string part = std::move(todo.back());
    todo.pop_back();
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const ssize_t length = readlink(absolute(joined()).c_str(), target.data(), target.size());
    if (length < 0) {
      if (errno != EINVAL) return std::nullopt;  // EINVAL: there, and no link
      continue;
    }
    if (++links > kMaxLinks) return std::nullopt;
    std::string_view to(target.data(), static_cast<std::size_t>(length));
    done.pop_back();
    if (to.starts_with('/')) {
      done.clear();
      for (const std::string_view prefix : {std::string_view(root_), std::string_view("/sys")})
        if (to.size() > prefix.size() && to.starts_with(prefix) && to[prefix.size()] == '/') {
          to.remove_prefix(prefix.size());
          break;
        }
    }
    push_components(todo, to);
  }
  return joined();
}

}  // namespace nnd::facts

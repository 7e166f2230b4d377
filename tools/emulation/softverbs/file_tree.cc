#include "softverbs/file_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "softverbs/scenario.h"

namespace softverbs {

namespace fs = std::filesystem;

bool stays_below(const fs::path& path) {
  return path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

fs::path FileTree::place_of(const std::string& path) const {
  if (!stays_below(path))
    throw ScenarioError("\"" + path + "\" leads out of an emulated host's files");
  return root_ / path;
}

void FileTree::directory(const std::string& path) const { fs::create_directories(place_of(path)); }

void FileTree::file(const std::string& path, const std::string& content) const {
  const fs::path place = place_of(path);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  int fd = ::open(place.c_str(), kFlags, 0644);
  if (fd < 0 && errno == ENOENT) {
    fs::create_directories(place.parent_path());
    fd = ::open(place.c_str(), kFlags, 0644);
  }
  const std::string text = content.empty() ? content : content + "\n";
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!written) throw fs::filesystem_error("write", place, {error, std::generic_category()});
}

void FileTree::link(const std::string& path, const std::string& target) const {
  const fs::path place = place_of(path);
  fs::create_directories(place.parent_path());
  const fs::path relative = place_of(target).lexically_relative(place.parent_path());
  if (fs::is_symlink(place) && fs::read_symlink(place) == relative) return;
  fs::create_symlink(relative, place);
}

void FileTree::remove(const std::string& path) const { fs::remove_all(place_of(path)); }

}  // namespace softverbs

// Reading a tree of small kernel files (/sys, /proc, or a copy made for a test). What can't be read
// is a fact, not an error: containers hide files, and unmapped GID slots answer EINVAL. Reads are
// bounded and never block. No state but the root: thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nnd::facts {

struct FileText {
  std::string text;  // without trailing newlines
  int error = 0;     // errno; 0: read (perhaps empty)

  bool ok() const { return error == 0; }
};

class FileTree {
 public:
  explicit FileTree(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string absolute(std::string_view path) const;

  // Paths are relative to the root, without a leading slash.
  FileText read(std::string_view path, std::size_t limit = 4096) const;
  std::optional<long> read_number(std::string_view path) const;
  bool exists(std::string_view path) const;
  // Names in a directory, sorted, at most 4096; empty where it can't be read.
  std::vector<std::string> list(std::string_view path) const;

  // Where a path leads to once its links are followed, relative to the root; nothing where it leads
  // nowhere. Links never leave the root: an absolute one is taken from the root ("/sys/..." of a
  // recorded tree too), ".." stops at it.
  std::optional<std::string> resolve(std::string_view path) const;

 private:
  std::string root_;
};

}  // namespace nnd::facts

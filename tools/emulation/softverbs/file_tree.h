// Writes the small files of an emulated sysfs.
#pragma once

#include <filesystem>
#include <string>

namespace softverbs {

// Whether the path stays below the directory that it is relative to.
bool stays_below(const std::filesystem::path& path);

// Whatever a scenario names, nothing outside of the root is written or removed: ScenarioError.
class FileTree {
 public:
  explicit FileTree(std::filesystem::path root) : root_(std::move(root)) {}

  // path: below the root; its directories are made. A newline is added, as sysfs does.
  void file(const std::string& path, const std::string& content) const;
  void directory(const std::string& path) const;
  // A relative link at path to target; both are below the root.
  void link(const std::string& path, const std::string& target) const;
  void remove(const std::string& path) const;

 private:
  std::filesystem::path place_of(const std::string& path) const;

  std::filesystem::path root_;
};

}  // namespace softverbs

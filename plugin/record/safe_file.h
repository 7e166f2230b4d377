// Files in places that others can write to: created anew, mode 0600, following no symbolic link.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nnd::record {

struct PathFields {
  std::string host;
  std::string job;         // %j
  std::string start_time;  // %t
};
PathFields path_fields();

// %h host, %p pid, %u uid, %j job id, %t start time, %% a percent sign; others stay as they are.
std::string expand_pattern(std::string_view pattern, const PathFields& fields);

// The directory of config::kDefaultFile: where a user's processes of a node leave what nobody chose
// another place for.
std::string default_place();

// An open file that was created by us, and where it is.
struct SafeFile {
  int fd = -1;
  int dir_fd = -1;
  std::string path;
  std::string name;   // in the directory
  std::string error;  // why there is none: one clause with the path
  bool others_can_remove = false;

  // Removes the name, if it still is this file.
  void remove() noexcept;
  void close() noexcept;
};

// Whether the user chose the directory. One that nobody chose must be one in which nobody else can
// replace what we create. A chosen one may be a group's, or anybody's (Kubernetes' emptyDir):
// others can remove the file there, and never read or change it.
enum class Place { kChosen, kDefault };

// Creates `path`, or path.1, path.2, ... where it exists, and after a few of them path.RANDOM;
// missing directories are made (0700).
SafeFile create_file(const std::string& path, bool read_too, Place place);

// What this user's processes of a node share, in the directory, which is made where it is missing:
// opened to be read and written. Nobody else could have made or changed it.
SafeFile open_own_file(const std::string& directory, const std::string& name);

// A pattern that names a directory: one that is there, or whatever ends with a slash. `name`: the
// file's in it.
std::string file_in(std::string path, const std::string& name);

// The same for a place that nobody chose, and that somebody else may have taken first: then in a
// directory of the same kind that is new. `runtime_dir`: XDG_RUNTIME_DIR, or empty.
SafeFile create_default_file(const std::string& path, bool read_too,
                             const std::string& runtime_dir);

}  // namespace nnd::record

// The text of a file that somebody named, whatever stands behind the name.
#pragma once

#include <cstddef>
#include <string>

namespace nnd::config {

struct TextFile {
  std::string text;
  std::string problem;  // why there is none; empty: there is
};

// What else than a regular file is read: a pipe's other end is waited for (Ctrl-C ends that).
enum class AllowedFileType { kRegular, kRegularOrPipe };

// A file of more than `most` bytes is none of its `kind`, such as "policy", and not read on.
TextFile read_text_file(const std::string& file, const char* kind, std::size_t most,
                        AllowedFileType allowed);

}  // namespace nnd::config

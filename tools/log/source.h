// Where the bytes of a log come from: a file, as it is or compressed (gzip, zstd), or standard
// input.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace nnd::log {

// A path that cannot be read: "PATH: why".
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One thread at a time.
class Source {
 public:
  virtual ~Source() = default;
  // As many bytes as there are now, `most` at most; 0: there are no more at this time. Throws
  // ReadError.
  virtual std::size_t read(char* to, std::size_t most) = 0;
};

inline constexpr const char* kStandardInput = "-";

// How a file is compressed is seen from its first bytes. Throws ReadError where it cannot be opened
// or is no regular file.
std::unique_ptr<Source> open_source(const std::filesystem::path& path);

}  // namespace nnd::log

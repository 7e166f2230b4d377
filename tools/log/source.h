// Where the bytes of a log come from: a file, as it is or compressed (gzip, zstd), or standard
// input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace nnd::log {

// A path that cannot be read, or no further: "PATH: why".
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One thread at a time.
class Source {
 public:
  virtual ~Source() = default;
  // As many bytes as there are now, `most` at most; 0: there are no more at this time, or a hole of
  // more than 64 MiB begins. Throws ReadError.
  virtual std::size_t read(char* to, std::size_t most) = 0;
  virtual bool compressed() const { return true; }
};

inline constexpr const char* kStandardInput = "-";

// How a file is compressed is seen from its first bytes; standard input isn't. What one
// source took of that, the next one gives again; one at a time. Throws ReadError where it cannot be
// opened or is no regular file.
std::unique_ptr<Source> open_source(const std::filesystem::path& path);
// The same of a file that is known not to be compressed, from this byte on.
std::unique_ptr<Source> open_source(const std::filesystem::path& path, std::uint64_t from);

}  // namespace nnd::log

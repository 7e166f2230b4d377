// What a black box holds, as the lines that the event log would have had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "log/box.h"
#include "log/event.h"

namespace nnd::report {

struct BoxFile {
  std::filesystem::path path;
  log::BoxContents contents;
  bool living = false;  // the process that writes it is still there
  // Wall time: when its reading began and ended.
  std::int64_t began_ns = 0, done_ns = 0;

  std::string proc() const;  // field "proc" of its events
};

// Whether these first bytes of a file are a black box's.
bool starts_box(std::string_view bytes);

// Throws log::ReadError where it cannot be read or is no black box.
BoxFile read_box_file(const std::filesystem::path& path);

// What the event log of the box's process has. A process that dies while it writes leaves records
// in its box that the log has already, few of them, and the last ones there.
class Written {
 public:
  void add(const log::Event& event);
  bool has(std::uint64_t mono_ns, std::uint16_t event) const;
  std::optional<std::uint64_t> next_seq() const { return next_seq_; }
  std::optional<std::int64_t> clock_ns() const { return clock_ns_; }

 private:
  // Lines by their numbers: more than the drain writes at a time. A log may be in several files, of
  // which any can have the last ones.
  static constexpr std::uint64_t kLast = 512;
  static constexpr std::size_t kKept = 2 * kLast;

  std::vector<std::uint64_t> last_;  // a ring
  std::size_t at_ = 0;
  std::optional<std::uint64_t> next_seq_;
  std::optional<std::int64_t> clock_ns_;  // wall time less CLOCK_MONOTONIC, as last written
};

using LineSink = std::function<void(const std::string& line)>;

// The lines, without newlines, that are not in the log yet, numbered as they would have been. With
// no log at hand (`written` has nothing): numbered from where the box says that the log was.
void for_each_line(const BoxFile& box, const Written& written, const LineSink& sink);

}  // namespace nnd::report

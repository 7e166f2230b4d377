#include "log/reader.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "log/natural_order.h"

namespace nnd::log {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::uint64_t kMostForeign = std::uint64_t{64} << 20;  // a core, a checkpoint
}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  files += other.files;
  events += other.events;
  foreign += other.foreign;
  truncated += other.truncated;
  too_long += other.too_long;
  newer += other.newer;
  unreadable += other.unreadable;
  return *this;
}

LogFile::LogFile(const fs::path& path) : source_(open_source(path)) { counts_.files = 1; }

LogFile::LogFile(const fs::path& path, std::uint64_t from) : source_(open_source(path, from)) {
  counts_.files = 1;
  place_ = from;
}

void LogFile::read(LineParser& parser, const EventSink& sink, const std::function<bool()>& stop) {
  if (used_ == 0) buffer_.swap(parser.spare);
  while ((!stop || !stop()) && (counts_.events != 0 || place_ < kMostForeign)) {
    if (buffer_.size() < used_ + kChunk + kLinePadding)
      buffer_.resize(used_ + kChunk + kLinePadding);
    const std::size_t some = source_->read(buffer_.data() + used_, kChunk);
    if (some == 0) break;
    used_ += some;
    take_lines(parser, sink);
  }
  if (used_ == 0) buffer_.swap(parser.spare);
}

void LogFile::take_lines(LineParser& parser, const EventSink& sink) {
  std::size_t start = 0;
  const std::string_view bytes(buffer_.data(), used_);
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', start)) {
    const auto line = bytes.substr(start, end - start);
    start = end + 1;
    if (std::exchange(skipping_, false)) continue;
    if (line.empty()) continue;
    if (line.size() > kLongestLine) {
      ++counts_.too_long;
    } else if (!parser.parse(line, event_)) {
      ++counts_.foreign;
    } else {
      ++counts_.events;
      if (event_.schema > nccl_net_diag::kSchemaVersion) ++counts_.newer;
      sink(event_);
    }
  }
  std::memmove(buffer_.data(), buffer_.data() + start, used_ - start);
  used_ -= start;
  place_ += start;
  if (used_ > kLongestLine && !std::exchange(skipping_, true)) ++counts_.too_long;
  if (skipping_) place_ += std::exchange(used_, 0);
}

Counts LogFile::counts() const {
  Counts out = counts_;
  if (used_ != 0) ++out.truncated;
  return out;
}

std::vector<fs::path> logs_in(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> out;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".jsonl") out.push_back(entry->path());
  if (error) throw ReadError(directory.string() + ": " + error.message());
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.string(), b.string());
  });
  return out;
}

Counts read_logs(const std::vector<fs::path>& paths, const EventSink& sink) {
  Counts out;
  LineParser parser;
  const auto read = [&](const fs::path& path) {
    LogFile file(path);
    file.read(parser, sink);
    out += file.counts();
  };
  for (const auto& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      read(path);
      continue;
    }
    for (const auto& file : logs_in(path)) {
      try {
        read(file);
      } catch (const ReadError&) {
        ++out.unreadable;
      }
    }
  }
  return out;
}

}  // namespace nnd::log

#include "record/sink.h"

#include <spdlog/pattern_formatter.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace nnd::record {

LineSink::LineSink(int fd, bool regular)
    : base_sink(
          std::make_unique<spdlog::pattern_formatter>("%v", spdlog::pattern_time_type::utc, "\n")),
      fd_(fd),
      regular_(regular) {}

void LineSink::sink_it_(const spdlog::details::log_msg& msg) {
  spdlog::memory_buf_t line;
  formatter_->format(msg, line);
  if (ends_.size() == ends_.capacity()) ends_.reserve(2 * ends_.size() + 64);
  waiting_.append(line.data(), line.size());
  ends_.push_back(waiting_.size());
}

void LineSink::flush_() {
  lines_out_ = 0;
  error_ = 0;
  std::size_t written = 0;
  if (fd_ < 0) written = waiting_.size();
  if (broken_line_ && !waiting_.empty()) {
    if (::write(fd_, "\n", 1) != 1) error_ = errno;
    broken_line_ = error_ != 0;
  }
  while (error_ == 0 && written < waiting_.size()) {
    const ssize_t n = ::write(fd_, waiting_.data() + written, waiting_.size() - written);
    if (n > 0)
      written += static_cast<std::size_t>(n);
    else if (n == 0 || errno != EINTR)
      error_ = n == 0 ? ENOSPC : errno;
  }
  const auto whole_end = std::upper_bound(ends_.begin(), ends_.end(), written);
  lines_out_ = static_cast<std::size_t>(whole_end - ends_.begin());
  const std::size_t whole = lines_out_ == 0 ? 0 : ends_[lines_out_ - 1];
  total_ += whole;
  if (whole < written) take_back_broken_line(whole, written);
  waiting_.clear();
  ends_.clear();
}

void LineSink::take_back_broken_line(std::size_t whole, std::size_t written) {
  const off_t end = regular_ ? ::lseek(fd_, 0, SEEK_END) : -1;
  const off_t broken = static_cast<off_t>(written - whole);
  broken_line_ = end < broken || ::ftruncate(fd_, end - broken) != 0;
}

}  // namespace nnd::record

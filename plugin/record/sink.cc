#include "record/sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nnd::record {

void LineSink::add(std::string_view line) {
  if (ends_.size() == ends_.capacity()) ends_.reserve(2 * ends_.size() + 64);
  if (waiting_.capacity() - waiting_.size() <= line.size())
    waiting_.reserve(2 * waiting_.size() + line.size() + 1);
  waiting_.append(line).push_back('\n');  // has room: a line is in with its end or not at all
  ends_.push_back(waiting_.size());
}

void LineSink::flush() {
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

#include "record/sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nnd::record {

void LineSink::flush() {
  lines_out_ = 0;
  error_ = 0;
  std::size_t written = 0;
  if (fd_ < 0) written = waiting_.text.size();
  if (broken_line_ && !waiting_.text.empty()) {
    if (::write(fd_, "\n", 1) != 1) error_ = errno;
    broken_line_ = error_ != 0;
  }
  while (error_ == 0 && written < waiting_.text.size()) {
    const ssize_t n = ::write(fd_, waiting_.text.data() + written, waiting_.text.size() - written);
    if (n > 0)
      written += static_cast<std::size_t>(n);
    else if (n == 0 || errno != EINTR)
      error_ = n == 0 ? ENOSPC : errno;
  }
  const auto whole_end = std::upper_bound(waiting_.ends.begin(), waiting_.ends.end(), written);
  lines_out_ = static_cast<std::size_t>(whole_end - waiting_.ends.begin());
  const std::size_t whole = lines_out_ == 0 ? 0 : waiting_.ends[lines_out_ - 1];
  total_ += whole;
  if (whole < written) take_back_broken_line(whole, written);
  waiting_.clear();
}

void LineSink::take_back_broken_line(std::size_t whole, std::size_t written) {
  const off_t end = regular_ ? ::lseek(fd_, 0, SEEK_END) : -1;
  const off_t broken = static_cast<off_t>(written - whole);
  broken_line_ = end < broken || ::ftruncate(fd_, end - broken) != 0;
}

}  // namespace nnd::record

// A non-blocking byte stream that is read as fixed-size heads, each with a payload that goes
// straight to its place in memory.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <vector>

namespace softverbs {

// Copies so that whoever watches the last bytes sees the ones before: peers poll flags at the end
// of small messages.
void copy_in_order(char* to, const char* from, std::size_t size);

class StreamReader {
 public:
  enum class Status { kMore, kWait, kClosed };

  StreamReader();

  // The next size bytes, or nullptr: then fill().
  const char* head(std::size_t size);
  void consume(std::size_t size) { begin_ += size; }

  // From now on payload bytes go to these places; empty places with a length are thrown away.
  void expect(std::vector<iovec> places);
  bool payload_pending() const { return next_ < places_.size(); }

  // Reads what is there into the expected places and the buffer. kMore: something came.
  Status fill(int fd);
  void reset();

 private:
  void place_buffered();
  void advance(std::size_t bytes);

  static constexpr std::size_t kBuffer = 16384;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::vector<iovec> places_;
  std::size_t next_ = 0;
};

}  // namespace softverbs
